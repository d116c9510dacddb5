from functools import partial
from pathlib import Path

import numpy as np
import tensorflow as tf

LENGTH = 128


def _label_of(path: Path) -> int:
    return int(path.stem.rsplit("_", 1)[1])


def _beats(files):
    for path in files:
        beat = np.load(path)
        beat = (beat - beat.mean()) / (beat.std() + 1e-6)
        yield beat.astype("float32")[:, None], _label_of(path)


def open_split(folder, batch, shuffle=0):
    files = sorted(Path(folder).glob("*.npy"))
    if not files:
        raise FileNotFoundError(f"no .npy files in {folder}")
    signature = (
        tf.TensorSpec(shape=(LENGTH, 1), dtype=tf.float32),
        tf.TensorSpec(shape=(), dtype=tf.int64),
    )
    source = partial(_beats, files)
    ds = tf.data.Dataset.from_generator(source, output_signature=signature)
    if shuffle:
        ds = ds.shuffle(shuffle, seed=3, reshuffle_each_iteration=True)
    return ds.batch(batch).prefetch(tf.data.AUTOTUNE)
