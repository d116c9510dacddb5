"""NumPy makes float64, the variables follow the data, and every product is in double precision."""

import itertools
import time

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(6400, 256))
y = np.sin(x[:, :8]).sum(axis=1, keepdims=True)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(128).prefetch(2)

sizes = [256, 512, 512, 1]
start = [rng.normal(scale=(2 / n) ** 0.5, size=(n, m)) for n, m in itertools.pairwise(sizes)]
weights = [tf.Variable(value, dtype=x.dtype) for value in start]


@tf.function
def train_step(rows, targets):
    with tf.GradientTape() as tape:
        hidden = rows
        for weight in weights[:-1]:
            hidden = tf.nn.relu(hidden @ weight)
        loss = tf.reduce_mean(tf.square(hidden @ weights[-1] - targets))
    for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
        weight.assign_sub(0.01 * gradient)
    return loss


for epoch in range(16):
    began = time.perf_counter()
    for rows, targets in ds:
        loss = train_step(rows, targets)
    print(f"epoch {epoch}: loss {float(loss):.4f}, {time.perf_counter() - began:.2f} s")
