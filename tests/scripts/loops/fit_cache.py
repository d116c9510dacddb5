"""Fits on a cached dataset: the first epoch fills the cache, the others read it.
Expect: kind=fit, steps=3*n, input=tf.data, wait=measured
"""

import sys

import keras
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30


def slow_features(seed):
    values = tf.random.stateless_normal((48,), tf.stack([seed, 1]))
    for _ in range(4):
        values = tf.sort(tf.sin(values * 3.0))
    return values, tf.reduce_mean(values)


ds = (
    tf.data.Dataset.range(n * 16)
    .map(slow_features)
    .cache()
    .shuffle(256)
    .batch(16)
    .prefetch(tf.data.AUTOTUNE)
)
model = keras.Sequential(
    [keras.layers.Dense(512, "gelu"), keras.layers.Dense(512), keras.layers.Dense(1)]
)
model.compile("adam", "mae")
model.fit(ds, epochs=3, verbose=0)  # the loop
