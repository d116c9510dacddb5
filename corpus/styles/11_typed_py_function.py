# EXPECT: tf.py_function inside Dataset.map loads each PNG with PIL (BICUBIC resize), sequential map without num_parallel_calls, no cache, each epoch again
# TWIST: none
from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from PIL import Image
from skimage import data as skd


class Sample(NamedTuple):
    path: str
    label: int


class Shape(NamedTuple):
    height: int = 64
    width: int = 96
    channels: int = 3


BASE: Path = Path(os.path.dirname(os.path.abspath(__file__))) / "data" / "11_typed_py_function"
SHAPE: Shape = Shape()
BATCH: int = 16
EPOCHS: int = 14


def write_pngs(base: Path, count: int = 68) -> None:
    state: np.random.Generator = np.random.default_rng(55)
    scenes: dict[str, np.ndarray] = {"coffee": skd.coffee(), "moto": skd.stereo_motorcycle()[0], "rocket": skd.rocket()}
    for name, pixels in scenes.items():
        (base / name).mkdir(parents=True)
        for k in range(count):
            h: int = int(state.integers(210, 350))
            w: int = int(state.integers(210, 420))
            y: int = int(state.integers(0, pixels.shape[0] - h))
            x: int = int(state.integers(0, pixels.shape[1] - w))
            Image.fromarray(np.ascontiguousarray(pixels[y : y + h, x : x + w, :3])).save(base / name / f"{k}.png")


def scan(base: Path) -> list[Sample]:
    names: list[str] = sorted(d.name for d in base.iterdir())
    return [Sample(str(p), names.index(d)) for d in names for p in sorted((base / d).glob("*.png"))]


def _read(path: tf.Tensor) -> np.ndarray:
    image: Image.Image = Image.open(path.numpy().decode("utf-8")).convert("RGB")
    image = image.resize((SHAPE.width, SHAPE.height), resample=Image.BICUBIC)
    return np.array(image, dtype=np.float32) / 255.0


def load(path: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    image: tf.Tensor = tf.py_function(func=_read, inp=[path], Tout=tf.float32)
    image.set_shape(SHAPE)
    return image, label


def dataset(samples: list[Sample]) -> tf.data.Dataset:
    paths: tf.Tensor = tf.constant([s.path for s in samples])
    labels: tf.Tensor = tf.constant([s.label for s in samples], dtype=tf.int32)
    ds: tf.data.Dataset = tf.data.Dataset.from_tensor_slices((paths, labels))
    return ds.shuffle(len(samples), seed=3, reshuffle_each_iteration=True).map(load).batch(BATCH)


def model_fn(classes: int) -> tf.keras.Model:
    inputs: tf.Tensor = tf.keras.Input(shape=SHAPE)
    net: tf.Tensor = tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu")(inputs)
    net = tf.keras.layers.MaxPooling2D()(net)
    net = tf.keras.layers.Conv2D(16, 3, activation="relu")(net)
    net = tf.keras.layers.GlobalAveragePooling2D()(net)
    return tf.keras.Model(inputs, tf.keras.layers.Dense(classes, activation="softmax")(net))


def run() -> None:
    if not BASE.exists():
        write_pngs(BASE)
    tf.keras.utils.set_random_seed(17)
    samples: list[Sample] = scan(BASE)
    model: tf.keras.Model = model_fn(len({s.label for s in samples}))
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    result: tf.keras.callbacks.History = model.fit(dataset(samples), epochs=EPOCHS, verbose=2)
    print("loss per epoch:", ["%.3f" % v for v in result.history["loss"]])


run()
