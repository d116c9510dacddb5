"""The same training as a dataset: the next batch is made while the model learns from this one."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.random((2048, 48, 48, 3), "float32")
y = (x.mean(axis=(1, 2, 3)) > 0.5).astype("int32")

model = keras.Sequential(
    [
        keras.Input((48, 48, 3)),
        keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(2, activation="softmax"),
    ]
)
model.compile("adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])


def whiten(images, labels):
    mean, variance = tf.nn.moments(images, (1, 2), keepdims=True)
    return (images - mean) * tf.math.rsqrt(variance), labels


ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x)).batch(32)
ds = ds.map(whiten, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
model.fit(ds, epochs=12, verbose=2)
