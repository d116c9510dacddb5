"""Decoded batches go through the cache: kept in the first epoch, read in the later ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from quickfit.data.imaging._graph import Dataset, Tensor, in_python, plain
from quickfit.data.imaging.choices import Choices
from quickfit.data.imaging.faults import Faults
from quickfit.data.imaging.order import Epochs, Indices
from quickfit.data.imaging.store import Store


def cached(
    decoded: Dataset, store: Store, epochs: Epochs, faults: Faults, choices: Choices
) -> Dataset:
    """Return batches of `(index, image)` from the files, or from the cache once it is whole.

    Args:
        decoded: such batches from the files.
        store: what is cached.
        epochs: the order of later epochs.
        faults: the images that are never going to be there.
        choices: the size of images and batches.
    """
    import tensorflow as tf

    def usable() -> Indices:
        return store.usable(faults.left_out)

    @plain
    def keep(indices: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        return in_python(store.keep, [indices, batch], tf.int64, (None,)), batch

    @plain
    def begun(_: Tensor) -> Tensor:
        return in_python(lambda: np.bool_(len(usable()) > 0), [], tf.bool, ())

    def ordered() -> Indices:
        indices = usable()
        return indices[epochs.order(int(epochs.begin()), len(indices))]

    kept = decoded.map(keep, num_parallel_calls=tf.data.AUTOTUNE)
    stored = _stored(store, ordered, choices)

    # What is taken nothing of is not even begun: an epoch from the cache starts in a few
    # milliseconds, where preparing to decode takes a tenth of a second.
    @plain
    def chosen(is_stored: Tensor) -> Dataset:
        everything, nothing = tf.constant(-1, tf.int64), tf.constant(0, tf.int64)
        first = kept.take(tf.where(is_stored, nothing, everything))
        return first.concatenate(stored.take(tf.where(is_stored, everything, nothing)))

    return tf.data.Dataset.from_tensors(0).map(begun).flat_map(chosen)


def _stored(store: Store, ordered: Callable[[], Indices], choices: Choices) -> Dataset:
    """Return batches of `(index, image)` from the cache, in an order drawn for each pass."""
    import tensorflow as tf

    shape = (None, *choices.image_shape)

    @plain
    def begun(_: Tensor) -> Tensor:
        return in_python(ordered, [], tf.int64, (None,))

    @plain
    def batched(order: Tensor) -> Dataset:
        return tf.data.Dataset.from_tensor_slices(order).batch(choices.batch)

    @plain
    def read(indices: Tensor) -> tuple[Tensor, Tensor]:
        return indices, in_python(store.read, [indices], tf.uint8, shape)

    batches = tf.data.Dataset.from_tensors(0).map(begun).flat_map(batched)
    return batches.map(read, num_parallel_calls=tf.data.AUTOTUNE)
