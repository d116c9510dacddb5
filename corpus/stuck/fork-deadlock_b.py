# EXPECT stuck=fork-deadlock line=29 also=17,24
# NOTE the pool is forked after TensorFlow has run and the workers call TensorFlow ops, whose thread pool does not exist in the child; pool.map never returns. (Also fair: lines 17, 24.)
import multiprocessing as mp
import os
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image

SIDE = 96


def prepare(path):
    raw = tf.io.read_file(path)
    img = tf.io.decode_jpeg(raw, channels=3)
    img = tf.cast(img, tf.float32) / 127.5 - 1.0
    img = tf.image.per_image_standardization(img)
    return tf.image.resize(img, (SIDE, SIDE)).numpy()


def image_batches(paths, targets, batch_size):
    ctx = mp.get_context("fork")
    with ctx.Pool(2) as pool:
        while True:
            order = np.random.permutation(len(paths))
            for start in range(0, len(order) - batch_size + 1, batch_size):
                sel = order[start:start + batch_size]
                images = pool.map(prepare, [paths[i] for i in sel])
                yield np.stack(images), targets[sel]


def fake_photos(n):
    d = tempfile.mkdtemp(prefix="photos")
    out = []
    for i in range(n):
        a = np.kron(np.random.randint(0, 255, (32, 32, 3)), np.ones((32, 32, 1))).astype(np.uint8)
        out.append(os.path.join(d, f"{i}.jpg"))
        Image.fromarray(a).save(out[-1])
    return out


def make_model():
    base = tf.keras.Sequential([
        tf.keras.layers.Conv2D(16, 5, strides=4, activation="relu", input_shape=(SIDE, SIDE, 3)),
        tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(1),
    ])
    base.compile(loss="mae", optimizer="adam")
    return base


def main():
    paths = fake_photos(24)
    targets = np.random.rand(24).astype("float32")
    model = make_model()
    # sanity check of the untrained network
    before = model.predict(np.random.rand(32, SIDE, SIDE, 3), verbose=0)
    print("untrained mean:", before.mean())
    model.fit(image_batches(paths, targets, 6), steps_per_epoch=4, epochs=5)


main()
