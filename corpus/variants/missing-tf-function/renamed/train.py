# EXPECT cause=missing-tf-function file=train.py line=18
# WHY the training step runs op by op in Python
import time

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(10)
x = rng.normal(size=(6400, 32)).astype("float32")
y = np.sin(x[:, :1]).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(6400).batch(64).prefetch(2)
model = tf.keras.Sequential([tf.keras.Input((32,))] + [tf.keras.layers.Dense(64, activation="tanh") for _ in range(5)] + [tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(1e-3)
optimizer.build(model.trainable_variables)


def train_step(xb, yb):
    with tf.GradientTape() as tape:
        pred = model(xb, training=True)
        loss = tf.reduce_mean(tf.square(pred - yb))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


t0 = time.perf_counter()
for epoch in range(4):
    for xb, yb in ds:
        loss = train_step(xb, yb)
    print("epoch", epoch, "loss", float(loss))
print(f"training took {time.perf_counter() - t0:.1f} s")
