"""Fits on two datasets that were zipped: inputs and targets apart.
Expect: kind=fit, steps=2*n, input=tf.data, wait=measured
"""

import sys

import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
SIZE = 24

clean = tf.data.Dataset.range(n * 8).map(lambda i: tf.cast(i % 7, tf.float32) * tf.ones((SIZE,)))
noisy = clean.map(lambda row: row + tf.random.normal((SIZE,), stddev=0.1))
pairs = tf.data.Dataset.zip((noisy, clean)).batch(8).prefetch(1)

autoencoder = tf.keras.Sequential(
    [
        tf.keras.Input((SIZE,)),
        tf.keras.layers.Dense(400, "relu"),
        tf.keras.layers.Dense(6),
        tf.keras.layers.Dense(400, "relu"),
        tf.keras.layers.Dense(SIZE),
    ]
)
autoencoder.compile(tf.keras.optimizers.Adam(1e-3), tf.keras.losses.MeanSquaredError())
result = autoencoder.fit(pairs, epochs=2, verbose=0)  # the loop
print("loss", result.history["loss"][-1])
