"""A pipeline with a map, validation after every epoch."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).random((16000, 32, 32, 1), "float32")
y = x.mean(axis=(1, 2))


def augment(images, targets):
    return tf.image.random_contrast(images, 0.9, 1.1), targets


ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(32)
train = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
model = keras.Sequential(
    [
        keras.Input((32, 32, 1)),
        keras.layers.Conv2D(8, 5, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", loss="mse")
model.fit(train, epochs=10, verbose=2, validation_data=ds.take(50))
