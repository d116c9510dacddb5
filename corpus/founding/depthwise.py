"""Speed-up, third block: a depthwise convolution in a step by hand."""

import tensorflow as tf

net = tf.keras.Sequential([
    tf.keras.layers.Input(shape=(32, 32, 3)),
    tf.keras.layers.Conv2D(32, (3, 3), padding="same", activation="relu"),
    tf.keras.layers.MaxPooling2D((2, 2)),
    tf.keras.layers.DepthwiseConv2D((3, 3), padding="same", activation="relu"),
    tf.keras.layers.Conv2D(64, (1, 1), padding="same", activation="relu"),
    tf.keras.layers.MaxPooling2D((2, 2)),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(10, activation="softmax"),
])
adam = tf.keras.optimizers.Adam()
measure = tf.keras.losses.CategoricalCrossentropy()

pictures = tf.random.uniform((320, 32, 32, 3))
answers = tf.one_hot(tf.random.uniform((320,), 0, 10, tf.int32), 10)
batches = tf.data.Dataset.from_tensor_slices((pictures, answers)).batch(32)


@tf.function
def one_step(some, wanted):
    with tf.GradientTape() as tape:
        guess = net(some)
        cost = measure(wanted, guess)
    slopes = tape.gradient(cost, net.trainable_variables)
    adam.apply_gradients(zip(slopes, net.trainable_variables))
    return cost


for some, wanted in batches:
    cost = one_step(some, wanted)
    print(f"loss {cost}")
