"""The pipeline of a pack: positions in a random order, and batches read from where they are.

One call into Python reads a batch straight into its array: nothing is parsed, copied or held in
a buffer on the way, and every order is possible. The calls run in parallel: reading, decoding
and resizing release the GIL.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quickfit.data.graph import Dataset, Tensor, in_python, plain
from quickfit.data.imaging.room import Place, place_for
from quickfit.data.packing.manifest import Manifest
from quickfit.data.reading import order
from quickfit.data.reading.batches import Batches, Epochs
from quickfit.data.reading.ending import without_gaps
from quickfit.data.reading.faults import Faults
from quickfit.data.reading.kept import Kept, Reader
from quickfit.data.reading.options import Options
from quickfit.data.reading.pack_index import Index, Whole
from quickfit.data.reading.rows import (
    DecodedRows,
    Pixels,
    ResizedRows,
    Rows,
    Shape,
    StoredRows,
)
from quickfit.data.reading.shards import Shards
from quickfit.data.reading.shelves import Disk, Memory, Shelf
from quickfit.data.reading.wording import told_as_records
from quickfit.errors import PipelineError

Labels = NDArray[np.int32 | np.int64]

# Where nobody says another size, that of `images`.
_DEFAULT_SIZE = (224, 224)


@dataclass(frozen=True)
class Opened:
    """The batches of a pack as a dataset, and what can be said of them.

    Args:
        dataset: of uint8 images and labels.
        shape: of an image.
        count: the images of an epoch.
        faults: knows the damaged records.
        notes: how they are read, for people.
        has_files: whether TensorFlow reads the files itself.
    """

    dataset: Dataset
    shape: Shape
    count: int
    faults: Faults
    notes: tuple[str, ...]
    has_files: bool = False


def opened(index: Index, manifest: Manifest, options: Options) -> Opened:
    """Return the pipeline of a pack.

    Raises:
        PipelineError: this worker gets no images.
    """
    shape = shape_of(manifest, options)
    faults = Faults(skips=options.skips)
    shards = Shards(index)
    rows = _rows(shards, manifest, shape, options)
    batches = Batches(index, shards, rows, shape=shape, faults=faults)
    epochs = _epochs(index, manifest, options)
    place = _place(manifest, shape, len(epochs.own), options)
    reader = _keeping(batches, place, shape, epochs)
    dataset = _dataset(_positions(epochs, shards, options), reader, index, shape, options)
    if options.skips:
        dataset = without_gaps(dataset, options, faults, len(epochs.own))
    return Opened(dataset, shape, len(epochs.own), faults, (_order(epochs), place.reason))


def _order(epochs: Epochs) -> str:
    if not epochs.window:
        return "in the order of the pack"
    is_whole = epochs.window >= len(epochs.own)
    return "shuffled" if is_whole else f"shuffled within {epochs.window:,}"


def shape_of(manifest: Manifest, options: Options) -> Shape:
    """Return the shape of the images: as asked for, as stored, or as `images` has it."""
    if options.size:
        return (*options.size, 3)
    return manifest.image_shape or (*_DEFAULT_SIZE, 3)


def _rows(shards: Shards, manifest: Manifest, shape: Shape, options: Options) -> Rows:
    if manifest.image_shape is None:
        return DecodedRows(shards, options.resize)
    if manifest.image_shape == shape:
        return StoredRows(shards, shape)
    return ResizedRows(shards, manifest.image_shape, options.resize)


def _epochs(index: Index, manifest: Manifest, options: Options) -> Epochs:
    mean_bytes = manifest.bytes / max(manifest.count, 1)
    run = order.run_records(mean_bytes)
    own = order.part(len(index), run, options.shard)
    if not len(own):
        raise PipelineError(
            f"records(shard={options.shard}): this worker gets none of the {len(index):,} images "
            f"of {index.folder}. Use fewer workers."
        )
    window = order.window_records(mean_bytes, options.shuffle) if options.shuffle else 0
    # Drawn as Keras does, so that `keras.utils.set_random_seed` decides it.
    seed = int(np.random.randint(2**31)) if options.seed is None else options.seed
    return Epochs(own, window, run, seed)


def _place(manifest: Manifest, shape: Shape, count: int, options: Options) -> Place:
    if options.cache == "auto" and manifest.image_shape == shape:
        # The system keeps files in memory by itself, and pixels need no decoding.
        return Place("none", "", "read from the files in every epoch")
    with told_as_records():
        return place_for(options.cache, count * int(np.prod(shape)))


def _keeping(batches: Batches, place: Place, shape: Shape, epochs: Epochs) -> Reader:
    if place.kind == "none":
        return batches
    return Kept(batches, _shelf(place, shape, len(epochs.own)), epochs.own)


def _shelf(place: Place, shape: Shape, count: int) -> Shelf:
    if place.kind == "disk":
        return Disk(place.folder, shape)
    return Memory(count, shape)


def _positions(epochs: Epochs, shards: Shards, options: Options) -> Dataset:
    """Return the positions of one epoch in batches."""
    import tensorflow as tf

    def announced(positions: Whole) -> Whole:
        shards.announce(positions)
        return positions

    @plain
    def begun(_: Tensor) -> Tensor:
        return in_python(lambda: epochs.begin(), [], (tf.int64, (None,)))[0]

    @plain
    def announce(positions: Tensor) -> Tensor:
        return in_python(announced, [positions], (tf.int64, (None,)))[0]

    @plain
    def windows(positions: Tensor) -> Dataset:
        size = epochs.window or len(epochs.own)
        return tf.data.Dataset.from_tensor_slices(positions).batch(min(size, len(epochs.own)))

    epoch = tf.data.Dataset.from_tensors(0).map(begun).flat_map(windows).map(announce)
    # One window ahead: the disk reads the next one while this one is used.
    positions = epoch.prefetch(1).unbatch()
    is_final = options.drop_remainder and not options.skips
    return positions.batch(options.batch, drop_remainder=is_final)


def _dataset(
    positions: Dataset, reader: Reader, index: Index, shape: Shape, options: Options
) -> Dataset:
    import tensorflow as tf

    # As Keras has them; only numbers beyond it need 64 bits.
    is_wide = bool(np.any(index.label > np.iinfo(np.int32).max))
    labels = index.label if is_wide else index.label.astype(np.int32)

    def read(wanted: Whole) -> tuple[Pixels, Labels]:
        images, used = reader.read(wanted)
        return images, labels[used]

    known = options.batch if options.drop_remainder and not options.skips else None

    @plain
    def batch(wanted: Tensor) -> tuple[Tensor, ...]:
        results = ((tf.uint8, (known, *shape)), (tf.as_dtype(labels.dtype), (known,)))
        return tuple(in_python(read, [wanted], *results))

    return positions.map(batch, num_parallel_calls=tf.data.AUTOTUNE)
