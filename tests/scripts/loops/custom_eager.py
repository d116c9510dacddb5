"""A loop without any compiled function: `GradientTape` and every operation by itself.
Expect: kind=custom, steps=2*n, input=tf.data, wait=measured
"""

import sys

import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
x = np.linspace(-1, 1, n * 16, dtype="float32")[:, None]
ds = tf.data.Dataset.from_tensor_slices((x, np.sin(3 * x))).shuffle(len(x)).batch(16)

w1 = tf.Variable(tf.random.normal((1, 32)))
b1 = tf.Variable(tf.zeros((32,)))
w2 = tf.Variable(tf.random.normal((32, 1), stddev=0.1))
variables = [w1, b1, w2]
optimizer = tf.keras.optimizers.SGD(0.05)

for _epoch in range(2):
    for xb, yb in ds:  # the loop
        with tf.GradientTape() as tape:
            hidden = tf.tanh(xb @ w1 + b1)
            loss = tf.reduce_mean(tf.square(hidden @ w2 - yb))
        grads = tape.gradient(loss, variables)  # line: gradient
        optimizer.apply_gradients(zip(grads, variables, strict=True))  # line: apply
print("loss", float(loss))
