"""Custom training loop with label smoothing and cosine decay."""
import math
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

EPOCHS, BATCH, N = 3, 64, 2048


class ResBlock(keras.layers.Layer):
    def __init__(self, ch):
        super().__init__()
        self.c1 = keras.layers.Conv2D(ch, 3, padding="same", activation="relu")
        self.c2 = keras.layers.Conv2D(ch, 3, padding="same")

    def call(self, x):
        return tf.nn.relu(x + self.c2(self.c1(x)))


net = keras.Sequential([
    keras.layers.Input((32, 32, 3)),
    keras.layers.Conv2D(32, 3, padding="same"),
    ResBlock(32),
    keras.layers.MaxPooling2D(),
    ResBlock(32),
    keras.layers.GlobalAveragePooling2D(),
    keras.layers.Dense(10),
])
steps_total = EPOCHS * math.ceil(N / BATCH)
opt = keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.05, steps_total), momentum=0.9)
loss_fn = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
mean_loss = keras.metrics.Mean()

rng = np.random.default_rng(0)
x = rng.random((N, 32, 32, 3), dtype=np.float32)
y = keras.utils.to_categorical(rng.integers(0, 10, N), 10)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(N).batch(BATCH).prefetch(tf.data.AUTOTUNE)


@tf.function
def train_step(xb, yb):
    with tf.GradientTape() as tape:
        loss = loss_fn(yb, net(xb, training=True))
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    mean_loss.update_state(loss)


for epoch in range(EPOCHS):
    t0 = time.time()
    mean_loss.reset_state()
    for xb, yb in ds:
        train_step(xb, yb)
    print(f"epoch {epoch + 1}: loss {float(mean_loss.result()):.4f} ({time.time() - t0:.1f}s)")
