"""Custom training loop done right: one tf.function step, metrics on the device, validation per epoch."""
import time

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(9)
X = rng.normal(size=(9600, 512)).astype("float32")
Y = rng.integers(0, 8, size=9600).astype("int64")
train = tf.data.Dataset.from_tensor_slices((X[:8000], Y[:8000])).shuffle(8000).batch(200, drop_remainder=True).prefetch(2)
val = tf.data.Dataset.from_tensor_slices((X[8000:], Y[8000:])).batch(400).prefetch(2)

net = tf.keras.Sequential([
    tf.keras.Input((512,)),
    tf.keras.layers.Dense(1536, activation="relu"),
    tf.keras.layers.Dense(1536, activation="relu"),
    tf.keras.layers.Dense(8),
])
opt = tf.keras.optimizers.Adam(1e-3)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_loss = tf.keras.metrics.Mean()
val_acc = tf.keras.metrics.SparseCategoricalAccuracy()
opt.build(net.trainable_variables)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, net(x, training=True))
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    train_loss.update_state(loss)


@tf.function
def val_step(x, y):
    val_acc.update_state(y, net(x, training=False))


t0 = time.perf_counter()
for epoch in range(9):
    train_loss.reset_state()
    val_acc.reset_state()
    for x, y in train:
        train_step(x, y)
    for x, y in val:
        val_step(x, y)
    print(f"epoch {epoch}: loss {float(train_loss.result()):.4f} val_acc {float(val_acc.result()):.3f}")
print(f"training took {time.perf_counter() - t0:.1f} s")
