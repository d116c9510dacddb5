# EXPECT cause=decode-full-size file=train.py line=33
# WHY TileReader.read decodes 2048x1536 satellite tiles whole for an 80x80 network input
"""Land-use classes from satellite tiles, each tile seen once."""
from __future__ import annotations

import argparse
import pathlib
import tempfile
import time

import numpy as np
import tensorflow as tf
from PIL import Image


def render_tiles(folder: pathlib.Path, n: int) -> list[str]:
    rng = np.random.default_rng(123)
    out = []
    for i in range(n):
        tile = Image.fromarray(rng.integers(0, 255, (6, 8, 3), dtype=np.uint8)).resize((2048, 1536), Image.BICUBIC)
        p = folder / f"tile_{i:03d}.jpeg"
        tile.save(p, quality=75)
        out.append(str(p))
    return out


class TileReader:
    def __init__(self, side: int):
        self.side = side

    def read(self, path):
        raw = tf.io.read_file(path)
        pixels = tf.image.decode_jpeg(raw, channels=3)
        return tf.image.resize(pixels, [self.side, self.side], method="nearest")

    def __call__(self, path, label):
        return tf.cast(self.read(path), tf.float32) / 127.5 - 1.0, label


def input_fn(tiles, n, batch, side):
    rng = np.random.default_rng(9)
    ds = tf.data.Dataset.from_tensor_slices((rng.choice(tiles, n), rng.integers(0, 7, n)))
    ds = ds.map(TileReader(side), num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(batch).prefetch(2)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--n", type=int, default=1900)
    p.add_argument("--batch", type=int, default=20)
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        tiles = render_tiles(pathlib.Path(tmp), 12)
        net = tf.keras.Sequential([
            tf.keras.layers.Input((80, 80, 3)),
            tf.keras.layers.Conv2D(8, 5, strides=4, activation="relu"),
            tf.keras.layers.GlobalMaxPooling2D(),
            tf.keras.layers.Dense(7),
        ])
        net.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        t = time.perf_counter()
        net.fit(input_fn(tiles, a.n, a.batch, 80), verbose=2)
        print(f"training took {time.perf_counter() - t:.1f} s")


if __name__ == "__main__":
    main()
