import pathlib

import numpy as np
import tensorflow as tf


def write_tiles(folder, n, side, scenes=4, seed=0):
    """A few scenes, photographed again and again on different days."""
    rng = np.random.default_rng(seed)
    folder = pathlib.Path(folder)
    encoded = []
    for _ in range(scenes):
        img = rng.integers(0, 255, (side, side, 3), dtype=np.uint8)
        mask = np.zeros((side, side, 1), np.uint8)
        c = int(rng.integers(side // 4, 3 * side // 4))
        mask[:, c - 40:c + 40] = 255
        img[:, c - 40:c + 40] //= 3
        encoded.append((tf.io.encode_png(img, compression=1).numpy(),
                        tf.io.encode_png(mask, compression=1).numpy()))
    for i in range(n):
        img, mask = encoded[i % scenes]
        (folder / f"{i:03d}_img.png").write_bytes(img)
        (folder / f"{i:03d}_mask.png").write_bytes(mask)


class TileDataset:
    """Full resolution orthophoto tiles, reduced to the network's input size."""

    def __init__(self, folder, size, batch_size):
        self.images = sorted(str(p) for p in pathlib.Path(folder).glob("*_img.png"))
        self.masks = [p.replace("_img", "_mask") for p in self.images]
        self.size = size
        self.batch_size = batch_size

    def _read(self, path, channels, method):
        x = tf.io.decode_png(tf.io.read_file(path), channels=channels)
        x = tf.image.resize(x, (self.size, self.size), method=method, antialias=True)
        x = tf.cast(x, tf.float32) / 255.0
        x.set_shape((self.size, self.size, channels))
        return x

    def _load(self, img, mask):
        return self._read(img, 3, "lanczos5"), tf.round(self._read(mask, 1, "area"))

    @staticmethod
    def _flip(x, y):
        xy = tf.image.random_flip_left_right(tf.concat([x, y], -1))
        return xy[..., :3], xy[..., 3:]

    def training(self):
        ds = tf.data.Dataset.from_tensor_slices((self.images, self.masks))
        ds = ds.map(self._load, num_parallel_calls=tf.data.AUTOTUNE)
        ds = ds.shuffle(64, seed=3)
        ds = ds.map(self._flip, num_parallel_calls=tf.data.AUTOTUNE)
        return ds.batch(self.batch_size).prefetch(tf.data.AUTOTUNE)
