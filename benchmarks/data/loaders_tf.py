"""Loaders of TensorFlow and Keras, as people write them, and as well as they can be written.

Each returns something that yields the batches of one epoch each time it is iterated: images of
224×224, uint8 where it can be had, and their labels.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from data.outputs import BATCH, SIDE, pil
from data.photos import photos

# By which the decoder can shrink while it decodes.
RATIOS = (1, 2, 4, 8)


class _PilEpochs:
    """A Python generator, started anew for each epoch."""

    def __init__(self, folder: Path, *, bicubic: bool) -> None:
        taken = photos(folder)
        self._pairs = list(zip(taken.files, taken.labels(), strict=True))
        self._bicubic = bicubic

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        random.shuffle(self._pairs)
        for begin in range(0, len(self._pairs), BATCH):
            part = self._pairs[begin : begin + BATCH]
            images = np.stack([pil(file, bicubic=self._bicubic) for file, _ in part])
            yield images, np.asarray([label for _, label in part])


def pil_generator(folder: Path, *, bicubic: bool = False) -> Iterable[Any]:
    """A plain Python generator with PIL, fed to TensorFlow as `fit` feeds it."""
    import tensorflow as tf

    epochs = _PilEpochs(folder, bicubic=bicubic)
    signature = (
        tf.TensorSpec((None, SIDE, SIDE, 3), tf.uint8),
        tf.TensorSpec((None,), tf.int64),
    )
    ds = tf.data.Dataset.from_generator(lambda: iter(epochs), output_signature=signature)
    return ds.prefetch(tf.data.AUTOTUNE)


def py_dataset(folder: Path, *, workers: int) -> Iterable[Any]:
    """A `keras.utils.PyDataset` with threads, through the adapter that `fit` uses."""
    import keras
    from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter

    taken = photos(folder)
    files, labels = taken.files, np.asarray(taken.labels())
    order = np.random.default_rng(0).permutation(len(files))

    class Photographs(keras.utils.PyDataset):
        def __len__(self) -> int:
            return len(files) // BATCH

        def __getitem__(self, number: int) -> tuple[np.ndarray, np.ndarray]:
            chosen = order[number * BATCH : (number + 1) * BATCH]
            return np.stack([pil(files[n]) for n in chosen]), labels[chosen]

    adapter = PyDatasetAdapter(Photographs(workers=workers), shuffle=True)
    return PyDatasetEpochs(adapter)


class PyDatasetEpochs:
    """The epochs of a PyDataset as `fit` runs them.

    Args:
        adapter: Keras' own, of the PyDataset.
    """

    def __init__(self, adapter: Any) -> None:  # of Keras
        self._adapter = adapter
        self._ds = adapter.get_tf_dataset()

    def __iter__(self) -> Iterator[Any]:
        self._adapter.on_epoch_begin()
        yield from self._ds
        self._adapter.on_epoch_end()


def keras_directory(folder: Path) -> Iterable[Any]:
    """`keras.utils.image_dataset_from_directory` with its defaults; float32."""
    import keras
    import tensorflow as tf

    ds = keras.utils.image_dataset_from_directory(
        folder, image_size=(SIDE, SIDE), batch_size=BATCH, seed=0, verbose=False
    )
    return ds.prefetch(tf.data.AUTOTUNE)


def hand_written(
    folder: Path,
    *,
    fast: bool = True,
    ratio: str = "",
    fancy: bool = True,
    antialias: bool = False,
    in_order: bool = True,
) -> Iterable[Any]:
    """The careful tf.data pipeline: paths shuffled, everything parallel, uint8 out.

    Args:
        folder: of the photographs.
        fast: decode with `INTEGER_FAST`.
        ratio: decode at a half, a quarter or an eighth where that is still large enough; the size
            is "read" from each file in the pipeline, or "known" from a look at all of them before.
        fancy: smooth the colour planes while decoding, as the default does.
        antialias: of `tf.image.resize`.
        in_order: as `deterministic` of `map`.
    """
    import tensorflow as tf

    taken = photos(folder)
    how = {"channels": 3, "dct_method": "INTEGER_FAST" if fast else "", "fancy_upscaling": fancy}
    # What antialiasing needs is left to it: the decoder's own shrinking is a box filter.
    least_px = 2 * SIDE if antialias else SIDE
    branches = [_decoder(number, how) for number in RATIOS]

    def decode(content: Any, branch: Any) -> Any:
        if not ratio:
            return tf.io.decode_jpeg(content, **how)
        if ratio == "read":
            times = tf.reduce_min(tf.io.extract_jpeg_shape(content)[:2]) // least_px
            branch = tf.reduce_sum(tf.cast(times >= tf.constant(RATIOS[1:]), tf.int32))
        return tf.switch_case(branch, [lambda one=one: one(content) for one in branches])

    def load(path: Any, label: Any, branch: Any) -> Any:
        image = decode(tf.io.read_file(path), branch)
        image = tf.image.resize(image, (SIDE, SIDE), antialias=antialias)
        # Half a level up and cut off: rounding would take three times as long.
        return tf.cast(image + 0.5, tf.uint8), label

    known = [_branch(file, least_px) if ratio == "known" else 0 for file in taken.files]
    rows = ([str(file) for file in taken.files], taken.labels(), known)
    ds = tf.data.Dataset.from_tensor_slices(rows).shuffle(len(taken.files))
    ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE, deterministic=in_order)
    return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)


def _decoder(ratio: int, how: dict[str, Any]) -> Callable[[Any], Any]:
    import tensorflow as tf

    return lambda content: tf.io.decode_jpeg(content, ratio=ratio, **how)


def _branch(file: Path, least_px: int) -> int:
    """Return which of the ratios fits a file, by its header."""
    from PIL import Image

    with Image.open(file) as image:
        times = min(image.size) // least_px
    return sum(times >= ratio for ratio in RATIOS[1:])
