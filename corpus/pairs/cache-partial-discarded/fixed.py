"""The cache holds only what an epoch reads, so it is complete after the first one."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
images = np.random.default_rng(0).integers(0, 255, (600, 200, 200, 3), dtype=np.uint8)
labels = np.arange(600) % 4


def prepare(image, label):
    image = tf.image.rgb_to_hsv(tf.cast(image, tf.float32) / 255.0)
    image = tf.image.resize(image, (64, 64), method="lanczos5", antialias=True)
    return tf.image.per_image_standardization(image), label


ds = tf.data.Dataset.from_tensor_slices((images, labels))
ds = ds.map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.take(480).cache()
ds = ds.shuffle(64).batch(16).prefetch(tf.data.AUTOTUNE)

model = keras.Sequential(
    [
        keras.Input((64, 64, 3)),
        keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(4),
    ]
)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(ds, epochs=10, verbose=2)
