"""Speed-up, second block: half precision with the loss scaled by hand, as Keras 2 had it."""

import tensorflow as tf

policy = tf.keras.mixed_precision.Policy("mixed_float16")
tf.keras.mixed_precision.set_global_policy(policy)

net = tf.keras.Sequential([
    tf.keras.layers.Conv2D(32, (3, 3), activation="relu", input_shape=(32, 32, 3)),
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
        scaled_cost = adam.get_scaled_loss(cost)
    scaled_slopes = tape.gradient(scaled_cost, net.trainable_variables)
    slopes = adam.get_unscaled_gradients(scaled_slopes)
    adam.apply_gradients(zip(slopes, net.trainable_variables))
    return cost


for some, wanted in batches:
    cost = one_step(some, wanted)
    print(f"loss {cost}")
