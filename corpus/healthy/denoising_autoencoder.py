"""Convolutional denoising autoencoder: cached images, light noise added per batch in map."""
import time

import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, Model
from tensorflow.keras.layers import Conv2D, Conv2DTranspose

imgs = np.random.default_rng(202).integers(0, 255, (1200, 48, 48, 1), dtype=np.uint8)


def corrupt(x):
    clean = tf.cast(x, tf.float32) / 255.0
    return clean + tf.random.normal(tf.shape(clean), stddev=0.1), clean


train = (tf.data.Dataset.from_tensor_slices(imgs).cache().shuffle(1200)
         .batch(48, drop_remainder=True).map(corrupt, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE))

x = Input((48, 48, 1))
h = Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
h = Conv2D(64, 3, strides=2, padding="same", activation="relu")(h)
h = Conv2D(96, 3, padding="same", activation="relu")(h)
h = Conv2DTranspose(64, 3, strides=2, padding="same", activation="relu")(h)
h = Conv2DTranspose(32, 3, strides=2, padding="same", activation="relu")(h)
ae = Model(x, Conv2D(1, 3, padding="same", activation="sigmoid")(h))
ae.compile(optimizer="adam", loss="binary_crossentropy")
t0 = time.time()
ae.fit(train, epochs=8, verbose=2)
print(f"training took {time.time() - t0:.1f} s")
