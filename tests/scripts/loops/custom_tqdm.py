"""A loop of its own under a progress bar.
Expect: kind=custom, steps=2*n, input=tf.data, wait=measured
"""

import sys

import numpy as np
import tensorflow as tf

try:
    from tqdm import tqdm
except ImportError:  # a bar with the same look

    def tqdm(items, desc=""):
        """Yield the items and count them on stderr."""
        for number, item in enumerate(items, 1):
            yield item
            if number % 10 == 0:
                print(f"\r{desc}: {number}it", end="", file=sys.stderr)
        print(file=sys.stderr)


n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
x = np.random.default_rng(0).normal(size=(n * 16, 32)).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((x, x[:, 0])).batch(16).prefetch(tf.data.AUTOTUNE)
model = tf.keras.Sequential([tf.keras.layers.Dense(256, "relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.RMSprop()


@tf.function
def step(features, targets):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.squeeze(model(features), -1) - targets) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


for epoch in range(2):
    for features, targets in tqdm(ds, desc=f"epoch {epoch}"):  # the loop
        loss = step(features, targets)
