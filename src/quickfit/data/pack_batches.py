"""Batches of a pack: positions in a random order, each batch read straight into its array."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quickfit.data import epoch_order, pixels
from quickfit.data.cache import (
    BatchReader,
    CachedReader,
    CachePlace,
    ImageCache,
    ImageShelf,
    find_cache_place,
    new_shelf,
)
from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.epoch_order import Positions
from quickfit.data.faults import RecordFaults, without_gaps
from quickfit.data.graph import (
    Dataset,
    Tensor,
    tensor_from_python,
    tensors_from_python,
    without_autograph,
)
from quickfit.data.image_decoding import decode_shrunk
from quickfit.data.options import PipelineOptions, Resize
from quickfit.data.pack_index import PackIndex, RecordSpot, ShardReader
from quickfit.data.packing.manifest import Manifest
from quickfit.data.pixels import Pixels, Shape, empty_batch
from quickfit.data.pixels.resizing import Filter
from quickfit.data.tfrecord import BrokenExampleError, parse_example
from quickfit.errors import PipelineError

_FILTERS: dict[Resize, Filter] = {
    "bilinear": "plain",
    "antialias": "bilinear",
    "crop": "bilinear",
    "pil": "bicubic",
}
# How the entry of the image begins in a message: its name, with key and length.
_IMAGE_KEY = b"\x0a\x05image"
Labels = NDArray[np.int32 | np.int64]
# Where nobody says another size, that of `images`.
_DEFAULT_SIZE = (224, 224)


class RowReader(Protocol):
    """Reads images of one pack. Every method is called from many threads."""

    def fill(self, spot: RecordSpot, out: Pixels) -> None:
        """Put the image of a record into `out`.

        Raises:
            SourceImageError: the record or its image is damaged.
        """


class StoredRowReader:
    """Images of a raw pack in the size they are stored in: read straight into the batch."""

    def __init__(self, shards: ShardReader, stored: Shape) -> None:
        self._shards = shards
        self._stored = stored
        self._before = _bytes_before_pixels(int(np.prod(stored)))

    def fill(self, spot: RecordSpot, out: Pixels) -> None:
        """Put the image of a record into `out`."""
        start = self._shards.read_end(spot, out.data.cast("B"))
        if not start.endswith(self._before):
            sides = " × ".join(map(str, self._stored))
            raise SourceImageError(Reason.CORRUPT, f"does not hold {sides} pixels")


class ResizedRowReader:
    """Images of a raw pack in another size."""

    def __init__(self, shards: ShardReader, stored: Shape, resize: Resize) -> None:
        self._rows = StoredRowReader(shards, stored)
        self._stored = stored
        self._resize = resize

    def fill(self, spot: RecordSpot, out: Pixels) -> None:
        """Put the image of a record into `out`."""
        image = np.empty(self._stored, np.uint8)
        self._rows.fill(spot, image)
        fit_image(image, out, self._resize)


class DecodedRowReader:
    """Images of a pack of image files."""

    def __init__(self, shards: ShardReader, resize: Resize) -> None:
        self._shards = shards
        self._resize = resize

    def fill(self, spot: RecordSpot, out: Pixels) -> None:
        """Put the image of a record into `out`."""
        decode_into(image_of(self._shards.content(spot)), out, self._resize)


def _bytes_before_pixels(size: int) -> bytes:
    """Return what stands before a value of bytes in a message: its key and its length."""
    digits = bytearray(b"\n")
    while size >= 0x80:
        digits.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes((*digits, size))


def image_of(message: bytes) -> bytes:
    """Return the image of a record.

    Raises:
        SourceImageError: it is no record of a pack.
    """
    start = _image_start(message)
    if start:
        return message[start:]
    try:
        return parse_example(message).image
    except BrokenExampleError as error:
        raise SourceImageError(Reason.CORRUPT, f"is no record of a pack: {error}") from None


def _image_start(message: bytes) -> int:
    """Return where the image begins that ends the message, as the packer writes it; 0 if not so.

    A tenth of the time of reading all fields.
    """
    try:
        _, at = _read_sized(message, 0)
        while True:
            length, inside = _read_sized(message, at)
            if message.startswith(_IMAGE_KEY, inside):
                break
            at = inside + length
        at = inside + len(_IMAGE_KEY)
        for _ in range(3):  # the feature, its list of bytes, the first of them
            length, at = _read_sized(message, at)
    except IndexError:
        return 0
    return at if at + length == len(message) else 0


def _read_sized(message: bytes, at: int) -> tuple[int, int]:
    """Return the length of the field at `at`, and where its value begins."""
    length = shift = 0
    while True:
        at += 1
        byte = message[at]
        length |= (byte & 0x7F) << shift
        if byte < 0x80:
            return length, at + 1
        shift += 7


def fit_image(image: Pixels, out: Pixels, resize: Resize) -> None:
    """Bring an image to the size of `out`."""
    if image.shape == out.shape:
        out[...] = image
    else:
        part = _crop_middle(image, *out.shape[:2]) if resize == "crop" else image
        pixels.resize_into(part, out, filter=_FILTERS[resize])


def _crop_middle(image: Pixels, height: int, width: int) -> Pixels:
    """Return the largest part in the middle that has the shape asked for."""
    shrink = min(image.shape[0] / height, image.shape[1] / width)
    rows, columns = (max(1, round(side * shrink)) for side in (height, width))
    top, left = (image.shape[0] - rows) // 2, (image.shape[1] - columns) // 2
    return np.ascontiguousarray(image[top : top + rows, left : left + columns])


def decode_into(content: bytes, out: Pixels, resize: Resize) -> None:
    """Decode an image file into `out`.

    Raises:
        SourceImageError: it cannot be decoded.
    """
    # Bilinear as in `images`, to the bit: a large JPEG is shrunk while it is decoded.
    is_plain = resize == "bilinear"
    image = decode_shrunk(content, out.shape[:2]) if is_plain else pixels.decode(content)
    fit_image(image, out, resize)


class PackBatches:
    """Reads batches of a pack by position.

    Args:
        index: where the records are.
        shards: reads them.
        rows: makes images of them.
        shape: of an image.
        faults: is told of records that cannot be used.
    """

    def __init__(
        self,
        index: PackIndex,
        shards: ShardReader,
        rows: RowReader,
        *,
        shape: Shape,
        faults: RecordFaults,
    ) -> None:
        self._index = index
        self._shards = shards
        self._rows = rows
        self._shape = shape
        self._faults = faults

    def read(self, positions: Positions) -> tuple[Pixels, Positions]:
        """Return the images at these positions, and the positions of those that can be used.

        Raises:
            PipelineError: a record is damaged, and none is to be left out.
        """
        images = empty_batch(len(positions), self._shape)
        bad = []
        for place, spot in enumerate(self._shards.spots(positions)):
            try:
                self._rows.fill(spot, images[place])
            except SourceImageError as error:
                self._note_fault(int(positions[place]), error)
                bad.append(place)
        if bad:
            return np.delete(images, bad, axis=0), np.delete(positions, bad)
        return images, positions

    def _note_fault(self, position: int, error: SourceImageError) -> None:
        place = f"{self._index.place_of(position)} ({self._index.path_of(position)})"
        advice = f"To check all of the pack: quickfit pack --verify {self._index.folder}"
        self._faults.note(place, error, advice)


class PackEpochs:
    """The order of each epoch.

    The epochs are counted in Python: a variable of TensorFlow would become one per device in a
    `strategy.scope()`.

    Args:
        own: the positions of this worker.
        window: how many are mixed with each other; 0 keeps the order of the pack.
        run: how many are read in one piece.
        seed: of the orders.
    """

    def __init__(self, own: Positions, window: int, run: int, seed: int) -> None:
        self.own = own
        self.window = window
        self._run = run
        self._seed = seed
        self._begun = 0
        self._lock = threading.Lock()

    def begin(self) -> Positions:
        """Return the positions of the epoch that begins."""
        with self._lock:
            epoch = self._begun
            self._begun += 1
        if not self.window:
            return self.own
        return epoch_order.shuffle_positions(self.own, self.window, self._run, (self._seed, epoch))


@dataclass(frozen=True)
class PackDataset:
    """The batches of a pack as a dataset, and what can be said of them.

    Args:
        dataset: of uint8 images and labels.
        shape: of an image.
        count: the images of an epoch.
        faults: knows the damaged records.
        notes: how they are read, for people.
        has_files: whether TensorFlow reads the files itself.
        shelf: the images that are cached; they are gone when nobody holds on to it.
    """

    dataset: Dataset
    shape: Shape
    count: int
    faults: RecordFaults
    notes: tuple[str, ...]
    has_files: bool = False
    shelf: ImageShelf | None = None


def open_indexed_pack(
    index: PackIndex, manifest: Manifest, options: PipelineOptions
) -> PackDataset:
    """Return the pipeline of a pack.

    Raises:
        PipelineError: this worker gets no images.
    """
    shape = image_shape_of(manifest, options)
    faults = RecordFaults(skips=options.skips)
    shards = ShardReader(index)
    rows = _row_reader(shards, manifest, shape, options)
    batches = PackBatches(index, shards, rows, shape=shape, faults=faults)
    epochs = _pack_epochs(index, manifest, options)
    place = _cache_place(manifest, shape, len(epochs.own), options)
    shelf = new_shelf(place, len(epochs.own), shape)
    reader: BatchReader = batches
    if shelf is not None:
        reader = CachedReader(batches, ImageCache(shelf, len(epochs.own)), epochs.own)
    dataset = _image_batches(
        _position_batches(epochs, shards, options), reader, index, shape, options
    )
    if options.skips:
        dataset = without_gaps(dataset, options, faults, len(epochs.own))
    return PackDataset(
        dataset,
        shape,
        len(epochs.own),
        faults,
        (_format_order(epochs), place.reason),
        shelf=shelf,
    )


def _format_order(epochs: PackEpochs) -> str:
    if not epochs.window:
        return "in the order of the pack"
    is_whole = epochs.window >= len(epochs.own)
    return "shuffled" if is_whole else f"shuffled within {epochs.window:,}"


def image_shape_of(manifest: Manifest, options: PipelineOptions) -> Shape:
    """Return the shape of the images: as asked for, as stored, or as `images` has it."""
    if options.size:
        return (*options.size, 3)
    return manifest.image_shape or (*_DEFAULT_SIZE, 3)


def _row_reader(
    shards: ShardReader, manifest: Manifest, shape: Shape, options: PipelineOptions
) -> RowReader:
    if manifest.image_shape is None:
        return DecodedRowReader(shards, options.resize)
    if manifest.image_shape == shape:
        return StoredRowReader(shards, shape)
    return ResizedRowReader(shards, manifest.image_shape, options.resize)


def _pack_epochs(index: PackIndex, manifest: Manifest, options: PipelineOptions) -> PackEpochs:
    mean_bytes = manifest.bytes / max(manifest.count, 1)
    run = epoch_order.run_records(mean_bytes)
    own = epoch_order.worker_positions(len(index), run, options.shard)
    if not len(own):
        raise PipelineError(
            f"records(shard={options.shard}): this worker gets none of the {len(index):,} images "
            f"of {index.folder}. Use fewer workers."
        )
    window = epoch_order.window_records(mean_bytes, options.shuffle) if options.shuffle else 0
    # Drawn as Keras does, so that `keras.utils.set_random_seed` decides it.
    seed = int(np.random.randint(2**31)) if options.seed is None else options.seed
    return PackEpochs(own, window, run, seed)


def _cache_place(
    manifest: Manifest, shape: Shape, count: int, options: PipelineOptions
) -> CachePlace:
    if options.cache == "auto" and manifest.image_shape == shape:
        # The system keeps files in memory by itself, and pixels need no decoding.
        return CachePlace("none", "", "read from the files in every epoch")
    return find_cache_place(options.cache, count * math.prod(shape), function="records")


def _position_batches(epochs: PackEpochs, shards: ShardReader, options: PipelineOptions) -> Dataset:
    """Return the positions of one epoch in batches."""
    import tensorflow as tf

    def announced(positions: Positions) -> Positions:
        shards.announce(positions)
        return positions

    @without_autograph
    def begun(_: Tensor) -> Tensor:
        return tensor_from_python(epochs.begin, [], tf.int64, (None,))

    @without_autograph
    def announce(positions: Tensor) -> Tensor:
        return tensor_from_python(announced, [positions], tf.int64, (None,))

    @without_autograph
    def windows(positions: Tensor) -> Dataset:
        size = epochs.window or len(epochs.own)
        return tf.data.Dataset.from_tensor_slices(positions).batch(min(size, len(epochs.own)))

    epoch = tf.data.Dataset.from_tensors(0).map(begun).flat_map(windows).map(announce)
    # One window ahead: the disk reads the next one while this one is used.
    positions = epoch.prefetch(1).unbatch()
    is_final = options.drop_remainder and not options.skips
    return positions.batch(options.batch, drop_remainder=is_final)


def _image_batches(
    positions: Dataset,
    reader: BatchReader,
    index: PackIndex,
    shape: Shape,
    options: PipelineOptions,
) -> Dataset:
    import tensorflow as tf

    # As Keras has them; only numbers beyond it need 64 bits.
    is_wide = bool(np.any(index.label > np.iinfo(np.int32).max))
    labels = index.label if is_wide else index.label.astype(np.int32)

    def read(wanted: Positions) -> tuple[Pixels, Labels]:
        images, used = reader.read(wanted)
        return images, labels[used]

    known = options.batch if options.drop_remainder and not options.skips else None

    @without_autograph
    def batch(wanted: Tensor) -> tuple[Tensor, ...]:
        results = ((tf.uint8, (known, *shape)), (tf.as_dtype(labels.dtype), (known,)))
        return tuple(tensors_from_python(read, [wanted], *results))

    return positions.map(batch, num_parallel_calls=tf.data.AUTOTUNE)
