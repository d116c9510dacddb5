# EXPECT moving
# NOTE the forked pool workers use only PIL and numpy and take 5 s per batch.
import multiprocessing as mp
import os
import tempfile
import time

import numpy as np
import tensorflow as tf
from PIL import Image

SIDE = 96


def prepare(path):
    with Image.open(path) as im:
        img = np.asarray(im.convert("RGB").resize((SIDE, SIDE)), dtype=np.float32)
    time.sleep(1.6)
    return img / 127.5 - 1.0


def image_batches(paths, targets, batch_size):
    ctx = mp.get_context("fork")
    with ctx.Pool(2) as pool:
        while True:
            order = np.random.permutation(len(paths))
            for start in range(0, len(order) - batch_size + 1, batch_size):
                sel = order[start:start + batch_size]
                images = pool.map(prepare, [paths[i] for i in sel], chunksize=1)
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
    model.fit(image_batches(paths, targets, 6), steps_per_epoch=4, epochs=1)


main()
