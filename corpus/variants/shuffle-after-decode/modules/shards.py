import io
import os
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image


def write(n):
    r = np.random.default_rng(19)
    path = os.path.join(tempfile.mkdtemp(), "x.tfrecord")
    pngs = []
    for _ in range(40):
        b = io.BytesIO()
        Image.fromarray(r.integers(0, 255, (16, 16), dtype=np.uint8)).resize((640, 640), Image.NEAREST).save(b, "PNG")
        pngs.append(b.getvalue())
    with tf.io.TFRecordWriter(path) as w:
        for i in range(n):
            w.write(pngs[i % 40])
    return path


def to_image(blob):
    img = tf.cast(tf.io.decode_png(blob, channels=1), tf.float32) / 255.0
    img = tf.image.resize(img, (128, 128), method="area")
    return img, tf.reduce_mean(img)[None]


class Chain:
    def __init__(self, ds):
        self.ds = ds

    def then(self, method, *args, **kw):
        self.ds = getattr(self.ds, method)(*args, **kw)
        return self


def training(path):
    chain = Chain(tf.data.TFRecordDataset(path))
    chain.then("map", to_image, num_parallel_calls=tf.data.AUTOTUNE)
    chain.then("shuffle", 3600)
    chain.then("repeat").then("batch", 4).then("prefetch", 2)
    return chain.ds
