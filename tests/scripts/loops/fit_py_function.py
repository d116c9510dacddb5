"""Fits on a map that goes back into Python with `tf.py_function`.
Expect: kind=fit, steps=2*n, input=tf.data, wait=measured
"""

import sys

import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30


def rotated(image):
    return np.rot90(image.numpy(), k=np.random.randint(4)).copy()


def augment(image, label):
    image = tf.py_function(rotated, [image], tf.float32)
    image.set_shape((16, 16, 1))
    return image, label


images = np.random.default_rng(1).random((n * 8, 16, 16, 1), "float32")
labels = np.arange(len(images)) % 3
ds = tf.data.Dataset.from_tensor_slices((images, labels)).map(augment).batch(8)

model = tf.keras.Sequential(
    [
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(3, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(ds, epochs=2, verbose=0)  # the loop
