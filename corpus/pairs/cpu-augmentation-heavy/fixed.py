"""Images are made small first and recoloured at random then."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
images = np.random.default_rng(0).integers(0, 255, (512, 192, 192, 3), dtype=np.uint8)
labels = np.arange(512) % 4


def augment(image, label):
    image = tf.image.resize(tf.cast(image, tf.float32) / 255.0, (80, 80))
    image = tf.image.random_hue(image, 0.1)
    image = tf.image.random_saturation(image, 0.7, 1.3)
    image = tf.image.random_contrast(image, 0.8, 1.2)
    return image, label


ds = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(512)
ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.batch(32).prefetch(tf.data.AUTOTUNE)

model = keras.Sequential(
    [
        keras.Input((80, 80, 3)),
        keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(4),
    ]
)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(ds, epochs=7, verbose=2)
