import pathlib
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image
from tensorflow.io import decode_jpeg as to_pixels

TARGET = 96


def sample_scans(n):
    where = pathlib.Path(tempfile.mkdtemp(prefix="scans"))
    rng = np.random.default_rng(7)
    for i in range(n):
        im = Image.fromarray(rng.integers(0, 255, (48, 48), dtype=np.uint8)).resize((1920, 1920), Image.BILINEAR)
        im.save(where / f"{i}.jpg", quality=90)
    return sorted(str(p) for p in where.glob("*.jpg"))


def open_scan(path):
    encoded = tf.io.read_file(path)
    scan = to_pixels(encoded, channels=1)
    scan = tf.image.resize_with_pad(scan, TARGET, TARGET, method="bilinear")
    return scan / 255.0


def stream(files, total, batch):
    rng = np.random.default_rng(8)
    order = tf.data.Dataset.from_tensor_slices((rng.choice(files, total), rng.integers(0, 2, total)))
    return order.map(lambda p, y: (open_scan(p), y), num_parallel_calls=tf.data.AUTOTUNE).batch(batch).prefetch(2)
