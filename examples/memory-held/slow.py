"""A variable is made longer by every step, and holds everything that was ever seen."""

import time

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
images = rng.random((8192, 256), "float32")
labels = rng.integers(0, 10, 8192)
ds = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(8192).batch(1024).repeat()

encoder = keras.Sequential([keras.Input((256,)), keras.layers.Dense(512, activation="relu")])
head = keras.layers.Dense(10)
head.build((None, 512))
weights = encoder.trainable_variables + head.trainable_variables
optimizer = keras.optimizers.SGD(0.01)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
memory = tf.Variable(tf.zeros((0, 512)), shape=(None, 512), trainable=False)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        codes = encoder(x, training=True)
        loss = loss_of(y, head(codes))
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
    memory.assign(tf.concat([memory, codes], axis=0))
    return loss


began_s = time.perf_counter()
for step, (x, y) in enumerate(ds.take(240)):
    loss = train_step(x, y)
    if step % 60 == 0:
        print(step, float(loss), float(tf.reduce_mean(memory[-1024:])))
print(f"training took {time.perf_counter() - began_s:.2f} s")
