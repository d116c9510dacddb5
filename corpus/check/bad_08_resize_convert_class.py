# EXPECT resize-then-convert line=32
# NOTE the resize is in one method, the conversion in another; the uint8 array from the "camera" arrives through from_tensor_slices
# SEEN runs; printed pixel range 2.25..254.5 instead of -0.5..0.5
"""Steering-angle regression on camera frames."""
import dataclasses
import typing as t

import keras
import numpy as np
import tensorflow as tf


@dataclasses.dataclass
class FrameConfig:
    height: int = 24
    width: int = 32
    batch: int = 8
    crop_top: int = 6


class FramePipeline:
    def __init__(self, cfg: FrameConfig):
        self.cfg = cfg

    def _crop(self, frame):
        return frame[self.cfg.crop_top:]

    def _shrink(self, frame):
        return tf.image.resize(frame, (self.cfg.height, self.cfg.width), method="area")

    def _to_float(self, frame):
        return tf.image.convert_image_dtype(frame, dtype="float32")

    def _prepare(self, frame, angle):
        frame = self._crop(frame)
        frame = self._shrink(frame)
        frame = self._to_float(frame)
        return frame - 0.5, angle

    def build(self, frames, angles, *, training: bool) -> tf.data.Dataset:
        ds = tf.data.Dataset.from_tensor_slices((frames, angles))
        if training:
            ds = ds.shuffle(len(frames))
        ds = ds.map(self._prepare, num_parallel_calls=tf.data.AUTOTUNE)
        return ds.batch(self.cfg.batch).prefetch(tf.data.AUTOTUNE)


def record(n: int, seed: int) -> t.Tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 60, (n, 54, 64, 3)).astype(np.uint8)
    angles = rng.uniform(-1, 1, n)
    for f, a in zip(frames, angles):
        col = int((a + 1) / 2 * 60)
        f[:, col:col + 4] = 255
    return frames, angles.astype("float32")[:, None]


def network(cfg: FrameConfig) -> keras.Model:
    x = inputs = keras.Input((cfg.height, cfg.width, 3))
    for filters in (8, 16):
        x = keras.layers.Conv2D(filters, 3, strides=2, activation="relu")(x)
    x = keras.layers.Flatten()(x)
    return keras.Model(inputs, keras.layers.Dense(1, activation="tanh")(x))


if __name__ == "__main__":
    cfg = FrameConfig()
    pipe = FramePipeline(cfg)
    train = pipe.build(*record(64, 0), training=True)
    test = pipe.build(*record(16, 1), training=False)
    frames, _ = next(iter(test))
    print("range", float(tf.reduce_min(frames)), float(tf.reduce_max(frames)))
    model = network(cfg)
    model.compile("adam", "mse")
    model.fit(train, validation_data=test, epochs=2, verbose=2)
