"""The same map, told to use all cores."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
images = np.random.default_rng(0).integers(0, 255, (512, 160, 160, 3), dtype=np.uint8)
labels = np.arange(512) % 4


def augment(image, label):
    image = tf.image.random_flip_left_right(tf.cast(image, tf.float32) / 255.0)
    image = tf.image.random_hue(tf.image.random_saturation(image, 0.5, 1.5), 0.1)
    image = tf.image.resize(image, (96, 96), antialias=True)
    return image, label


ds = tf.data.Dataset.from_tensor_slices((images, labels)).repeat()
ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.batch(32).prefetch(2)

model = keras.Sequential(
    [
        keras.Input((96, 96, 3)),
        keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(4),
    ]
)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(ds, steps_per_epoch=40, epochs=6, verbose=2)
