"""Puts the parts together: order, reading, decoding, faults, cache, finishing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quickfit.capacity import whole_cores
from quickfit.data.entries import NO_LABEL, Entry, Rejection, Source, SourceImageError
from quickfit.data.imaging._graph import Dataset, Tensor, in_python, plain
from quickfit.data.imaging.caching import cached
from quickfit.data.imaging.choices import Choices
from quickfit.data.imaging.faults import Faults, without_faults
from quickfit.data.imaging.finishing import augmented, finished
from quickfit.data.imaging.natively import is_native
from quickfit.data.imaging.natively import loader as loader_of_batches
from quickfit.data.imaging.order import Epochs, places_of
from quickfit.data.imaging.resizing import loader
from quickfit.data.imaging.room import Place
from quickfit.data.imaging.store import File, Memory, Shelf, Store


@dataclass
class Images:
    """The images of one dataset, and what is remembered of them between epochs.

    Args:
        source: reads them.
        entries: the images.
        classes: the name of each label.
        choices: how they become batches.
        place: where decoded images are cached.
        listed: what listing has left out.
    """

    source: Source
    entries: Sequence[Entry]
    classes: tuple[str, ...]
    choices: Choices
    place: Place
    listed: Sequence[Rejection] = ()

    def __post_init__(self) -> None:
        self.epochs = Epochs(is_shuffled=self.choices.shuffle, seed=self.choices.seed)
        self.load = loader(self.choices.resize, *self.choices.size)
        skips = self.choices.on_bad == "skip"
        self.faults = Faults(
            self.source, self.entries, skips=skips, load=self.load, listed=self.listed
        )

    def new_shelf(self) -> Shelf | None:
        """Return room for the decoded images, where they are cached."""
        if self.place.kind == "memory":
            return Memory(len(self.entries))
        is_disk = self.place.kind == "disk"
        return File(self.place.folder, self.choices.image_shape) if is_disk else None

    def labels(self) -> NDArray[np.int64 | np.int32] | None:
        """Return the label of each image; None if no image has one."""
        labels = np.fromiter((entry.label for entry in self.entries), np.int64, len(self.entries))
        return labels.astype(np.int32) if (labels != NO_LABEL).any() else None

    def read(self, index: np.int64) -> bytes:
        """Return the file of an image; nothing, which is no image, if it cannot be read."""
        try:
            return self.source.read(self.entries[int(index)])
        except SourceImageError:
            return b""


def dataset_of(images: Images) -> Dataset:
    """Return the dataset of finished batches."""
    import tensorflow as tf

    choices = images.choices
    batches = _decoded(images)
    shelf = images.new_shelf()
    if shelf is not None:
        store = Store(shelf, len(images.entries))
        batches = cached(batches, store, images.epochs, images.faults, choices)
    if choices.drop_remainder:
        batches = _whole_batches(batches, choices.batch)
    labels = images.labels()
    batches = finished(batches, choices, labels, len(images.classes))
    batches = augmented(batches, choices, has_labels=labels is not None)
    if choices.on_bad == "error":
        batches = batches.apply(tf.data.experimental.assert_cardinality(_steps(images)))
    if choices.repeat:
        batches = batches.repeat()
    dataset = batches.with_options(_options(choices)).prefetch(tf.data.AUTOTUNE)
    # What is made of this dataset, and every iterator, holds on to it, and so to what is cached.
    # TensorFlow itself never lets go of a Python function that was once part of a pipeline.
    dataset._quickfit_shelf = shelf
    return dataset


def _decoded(images: Images) -> Dataset:
    """Return batches of `(index, image)` from the files."""
    import tensorflow as tf

    count = len(images.entries)
    if is_native(images.choices):
        batches = _native(images, count)
        return without_faults(batches, images.faults, images.epochs, count)
    read = _reader(images)

    @plain
    def load(place: Tensor) -> tuple[Tensor, Tensor]:
        return place, images.load(read(place[2]))

    single = places_of(images.epochs, count).map(load, num_parallel_calls=tf.data.AUTOTUNE)
    if images.faults.skips:
        batches = single.ignore_errors(log_warning=False).batch(images.choices.batch)
    else:
        # Nothing between `map` and `batch`, so that TensorFlow decodes into the batch itself.
        # The batch that a bad file is in is missing then, which is enough to find the file.
        batches = single.batch(images.choices.batch).ignore_errors(log_warning=False)
    return without_faults(batches, images.faults, images.epochs, count)


def _native(images: Images, count: int) -> Dataset:
    """Return batches of `(place, image)`, without those that a bad file is in."""
    import tensorflow as tf

    choices = images.choices
    load = loader_of_batches(images.source, images.entries, choices.size)

    @plain
    def loaded(places: Tensor) -> tuple[Tensor, Tensor]:
        shape = (None, *choices.image_shape)
        return places, in_python(load, [places[:, 2]], tf.uint8, shape)

    batches = places_of(images.epochs, count).batch(choices.batch)
    # Of calls this long, AUTOTUNE tries one at a time for seconds at the start of every epoch.
    batches = batches.map(loaded, num_parallel_calls=whole_cores())
    return batches.ignore_errors(log_warning=False)


def _reader(images: Images) -> Callable[[Tensor], Tensor]:
    """Return the function that reads the file of an image inside the graph."""
    import tensorflow as tf

    if any(entry.offset >= 0 for entry in images.entries):
        return lambda index: in_python(images.read, [index], tf.string, ())
    files = [os.fsencode(os.path.abspath(entry.file)) for entry in images.entries]
    with tf.device("CPU"):  # where pipelines run, also on a machine with a GPU
        paths = tf.constant(files)
    return lambda index: tf.io.read_file(tf.gather(paths, index))


def _whole_batches(batches: Dataset, batch: int) -> Dataset:
    """Return the batches that are full, with their size in their shape."""
    import tensorflow as tf

    @plain
    def shaped(indices: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
        whole = tf.ensure_shape(images, (batch, *images.shape[1:]))
        return tf.ensure_shape(indices, (batch,)), whole

    is_full = plain(lambda indices, _images: tf.size(indices) == batch)
    return batches.filter(is_full).map(shaped)


def _steps(images: Images) -> int:
    count, batch = len(images.entries), images.choices.batch
    return count // batch if images.choices.drop_remainder else -(-count // batch)


def _options(choices: Choices) -> object:
    import tensorflow as tf

    options = tf.data.Options()
    policy = tf.data.experimental.AutoShardPolicy
    # There are no files in the graph to share out; a `shard` is a share already.
    options.experimental_distribute.auto_shard_policy = policy.OFF if choices.shard else policy.DATA
    return options
