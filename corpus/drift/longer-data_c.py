# EXPECT none
# NOTE the batch size is raised by a schedule (32 up to 512) instead of lowering the learning rate
import numpy as np
import tensorflow as tf

SCHEDULE = [(32, 2000), (64, 1400), (128, 1100), (256, 800), (512, 600)]

data_rng = np.random.RandomState(10)
images = data_rng.rand(10000, 14, 14, 1).astype(np.float32)
digits = data_rng.randint(0, 10, 10000).astype(np.int64)

cnn = tf.keras.Sequential([
    tf.keras.layers.Input((14, 14, 1)),
    tf.keras.layers.Conv2D(32, 3, activation="relu"),
    tf.keras.layers.MaxPool2D(),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(128, activation="relu"),
    tf.keras.layers.Dense(10),
])
sgd = tf.keras.optimizers.SGD(0.05, momentum=0.9)
sgd.build(cnn.trainable_variables)
loss_obj = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function(input_signature=[tf.TensorSpec([None, 14, 14, 1], tf.float32), tf.TensorSpec([None], tf.int64)])
def train_batch(x, y):
    with tf.GradientTape() as tape:
        loss = loss_obj(y, cnn(x, training=True))
    grads = tape.gradient(loss, cnn.trainable_variables)
    sgd.apply_gradients(zip(grads, cnn.trainable_variables))
    return loss


n = 0
for bs, steps in SCHEDULE:
    for _ in range(steps):
        pick = data_rng.randint(0, len(images), bs)
        loss = train_batch(images[pick], digits[pick])
        n += 1
    print("batch size", bs, "after step", n, "loss", loss.numpy())
