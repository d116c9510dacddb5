import io

import numpy as np
import tensorflow as tf
from PIL import Image


def _encode(rng):
    buf = io.BytesIO()
    Image.fromarray(rng.integers(0, 255, (32, 32, 3), dtype=np.uint8)).resize((320, 320)).save(buf, "JPEG", quality=92)
    return buf.getvalue()


def _open(blob, y):
    img = tf.io.decode_jpeg(blob, channels=3)
    return tf.image.resize(tf.cast(img, tf.float32) / 255.0, (64, 64), antialias=True), y


def decoded():
    rng = np.random.default_rng(15)
    blobs = [_encode(rng) for _ in range(500)]
    y = rng.normal(size=(500, 1)).astype("float32")
    ds = tf.data.Dataset.from_tensor_slices((blobs, y)).map(_open, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.cache()
