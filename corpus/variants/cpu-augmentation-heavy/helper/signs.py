import math

import numpy as np
import tensorflow as tf


def _rotate(im, deg):
    a = tf.random.uniform((), -deg, deg) * math.pi / 180.0
    c, s = tf.cos(a), tf.sin(a)
    h = tf.cast(tf.shape(im)[0], tf.float32) / 2.0
    t = tf.stack([c, -s, h - c * h + s * h, s, c, h - s * h - c * h, 0.0, 0.0])[None]
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=im[None], transforms=t, output_shape=tf.shape(im)[:2], fill_value=0.0, interpolation="BILINEAR", fill_mode="REFLECT")[0]


class SignPipeline:
    def __init__(self, n, side):
        r = np.random.default_rng(43)
        self.images = r.integers(0, 255, (n, side, side, 3), dtype=np.uint8)
        self.labels = r.integers(0, 43, n)

    def augment(self, im):
        im = tf.cast(im, tf.float32) / 255.0
        im = _rotate(im, 15.0)
        im = tf.image.random_brightness(im, 0.2)
        im = tf.image.random_contrast(im, 0.7, 1.3)
        im = tf.image.random_hue(im, 0.05)
        im = tf.image.random_saturation(im, 0.5, 1.5)
        im = tf.image.resize(tf.image.random_crop(im, (48, 48, 3)), (56, 56), method="bicubic")
        im = _rotate(im, 5.0)
        im = im + tf.random.normal(tf.shape(im), stddev=0.03)
        mean = tf.nn.avg_pool2d(im[None], 5, 1, "SAME")[0]
        im = im + tf.random.uniform((), 0.0, 1.0) * (im - mean)
        return tf.clip_by_value(tf.image.per_image_standardization(im), -3.0, 3.0)

    def train(self, batch):
        ds = tf.data.Dataset.from_tensor_slices((self.images, self.labels)).shuffle(len(self.images))
        ds = ds.map(lambda im, y: (self.augment(im), y), num_parallel_calls=tf.data.AUTOTUNE)
        return ds.batch(batch).prefetch(tf.data.AUTOTUNE)
