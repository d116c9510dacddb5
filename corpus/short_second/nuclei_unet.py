"""Nuclei segmentation, small U-Net with border weights (Ronneberger et al. 2015)."""
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import tensorflow as tf
from scipy.ndimage import distance_transform_edt
from tensorflow.keras import layers, Model

SIZE = 192
N_IMAGES = 128
BATCH = 16
W0, SIGMA = 10.0, 5.0
rng = np.random.default_rng(3)


def fake_slide():
    labels = np.zeros((SIZE, SIZE), np.int32)
    yy, xx = np.ogrid[:SIZE, :SIZE]
    for k in range(1, 91):
        cy, cx = rng.integers(10, SIZE - 10, 2)
        r = rng.integers(4, 9)
        labels[(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] = k
    img = (labels > 0) * 0.6 + rng.normal(0, 0.15, labels.shape)
    return img.astype("float32")[..., None], labels


def border_weights(labels):
    ids = np.unique(labels)
    ids = ids[ids > 0]
    dist = np.stack([distance_transform_edt(labels != i) for i in ids], axis=-1)
    dist.sort(axis=-1)
    d1, d2 = dist[..., 0], dist[..., 1]
    w = 1.0 + W0 * np.exp(-((d1 + d2) ** 2) / (2 * SIGMA ** 2)) * (labels == 0)
    return w.astype("float32")[..., None]


def with_weights(img, labels):
    w = tf.numpy_function(border_weights, [labels], tf.float32)
    w.set_shape((SIZE, SIZE, 1))
    mask = tf.cast(labels > 0, tf.float32)[..., None]
    return img, mask, w


def block(x, f):
    x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
    return layers.Conv2D(f, 3, padding="same", activation="relu")(x)


def unet():
    inp = layers.Input((SIZE, SIZE, 1))
    d1 = block(inp, 8)
    d2 = block(layers.MaxPooling2D()(d1), 16)
    b = block(layers.MaxPooling2D()(d2), 32)
    u2 = block(layers.Concatenate()([layers.UpSampling2D()(b), d2]), 16)
    u1 = block(layers.Concatenate()([layers.UpSampling2D()(u2), d1]), 8)
    return Model(inp, layers.Conv2D(1, 1, activation="sigmoid")(u1))


pairs = [fake_slide() for _ in range(N_IMAGES)]
images = np.stack([p[0] for p in pairs])
masks = np.stack([p[1] for p in pairs])

ds = (tf.data.Dataset.from_tensor_slices((images, masks))
      .shuffle(N_IMAGES)
      .map(with_weights)
      .batch(BATCH)
      .prefetch(1))

model = unet()
model.compile(optimizer="adam", loss="binary_crossentropy", weighted_metrics=[])
model.fit(ds, epochs=1, verbose=2)
