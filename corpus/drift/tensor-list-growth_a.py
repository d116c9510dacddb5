# EXPECT cause=tensor-list-growth|growing-host-work file=train.py line=32
# NOTE the loss tensors of all steps are kept in a list and summed again for the mean after each step (the append on the line before is as right an answer)
import tensorflow as tf

tf.keras.utils.set_random_seed(0)

features = tf.random.normal((12800, 48))
target = tf.reduce_sum(features[:, ::6], axis=1, keepdims=True)
dataset = tf.data.Dataset.from_tensor_slices((features, target)).shuffle(2000).batch(64).prefetch(tf.data.AUTOTUNE)

inputs = tf.keras.Input(shape=(48,))
hidden = tf.keras.layers.Dense(128, activation="relu")(inputs)
hidden = tf.keras.layers.Dense(128, activation="relu")(hidden)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(hidden))
optimizer = tf.keras.optimizers.SGD(0.01)
mse = tf.keras.losses.MeanSquaredError()


@tf.function
def train_one(x, y):
    with tf.GradientTape() as tape:
        loss = mse(y, model(x, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


losses = []
step = 0
for epoch in range(9):
    for x, y in dataset:
        losses.append(train_one(x, y))
        avg = sum(losses) / len(losses)
        step += 1
        if step % 100 == 0:
            print("epoch", epoch, "step", step, "average loss so far", avg.numpy())
