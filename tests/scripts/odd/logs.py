"""Makes TensorFlow log: a cache that is not read to its end, and a function traced each time."""

import os

# Whoever runs the tests may have silenced it.
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"

import tensorflow as tf

dataset = tf.data.Dataset.range(100).cache()
next(iter(dataset.take(3)))
del dataset


@tf.function
def double(number):
    return number * 2


for size in range(1, 9):
    double(tf.zeros([size]))
print("done")
