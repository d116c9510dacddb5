"""Border-weighted cross entropy as in the U-Net paper."""
import keras
import numpy as np
import tensorflow as tf
from scipy import ndimage


def _weight_map(mask, w0=10.0, sigma=3.0):
    labels, n = ndimage.label(mask > 0.5)
    if n < 2:
        return np.ones(mask.shape, np.float32)
    dist = np.stack([ndimage.distance_transform_edt(labels != k) for k in range(1, n + 1)])
    dist.sort(axis=0)
    w = 1.0 + w0 * np.exp(-((dist[0] + dist[1]) ** 2) / (2 * sigma ** 2)) * (labels == 0)
    return w.astype(np.float32)


def _batch_weights(masks):
    return np.stack([_weight_map(m[..., 0]) for m in masks])[..., None]


@keras.saving.register_keras_serializable()
class BorderCrossEntropy(keras.losses.Loss):
    def call(self, y_true, y_pred):
        w = tf.numpy_function(_batch_weights, [y_true], tf.float32)
        w = tf.ensure_shape(w, y_true.shape)
        p = tf.clip_by_value(y_pred, 1e-6, 1 - 1e-6)
        ce = -(y_true * tf.math.log(p) + (1 - y_true) * tf.math.log(1 - p))
        return tf.reduce_mean(w * ce, axis=(1, 2, 3))
