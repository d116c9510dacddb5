"""The cache of decoded images: where there is room for it, and how batches go through it."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import psutil

from quickfit import terminal, units
from quickfit.data.epoch_order import EpochOrder, Indices, Positions
from quickfit.data.faults import ImageFaults
from quickfit.data.graph import Dataset, Tensor, tensor_from_python, without_autograph
from quickfit.data.options import PipelineOptions
from quickfit.data.pixels import Pixels, Shape, empty_batch
from quickfit.errors import PipelineError, UsageError
from quickfit.machine import free_memory_bytes

# The model, its optimizer and the rest of the machine need theirs.
MEMORY_SHARE = 0.5
_DISK_SHARE = 0.25
_CACHE_CHOICES = "'auto', 'memory', 'disk', a folder, or None"


@dataclass(frozen=True)
class CachePlace:
    """Where decoded images are cached, and why there.

    Args:
        kind: in memory, in a file, or nowhere.
        folder: of the file.
        reason: for people.
    """

    kind: Literal["memory", "disk", "none"]
    folder: str
    reason: str


def find_cache_place(cache: object, needed_bytes: int, *, function: str) -> CachePlace:
    """Return where to cache images of this size.

    Args:
        cache: "auto", "memory", "disk", a folder, or None, "none" or False for nowhere.
        needed_bytes: for all of them.
        function: that the user called, for messages.

    Raises:
        UsageError: it is no place.
        PipelineError: there is no room, or the folder cannot be made.
    """
    if cache in (None, "none") or cache is False:
        return CachePlace("none", "", "not cached")
    if cache == "auto":
        return _automatic_place(needed_bytes)
    if cache == "memory":
        return _memory_place(needed_bytes, function)
    return _disk_place(cache, needed_bytes, function)


def _disk_place(cache: object, needed_bytes: int, function: str) -> CachePlace:
    folder = _temporary_folder() if cache == "disk" else _checked_folder(cache, function)
    there = folder if os.path.isdir(folder) else os.path.dirname(folder)
    size, free_bytes = units.size(needed_bytes), free_disk_bytes(there)
    if needed_bytes > free_bytes:
        raise PipelineError(
            f"{function}(cache={_format_cache(cache)}): the decoded images take {size}, and "
            f"{units.size(free_bytes)} are free in {there}. Give cache='auto', a folder on a "
            "larger disk, or a smaller size"
        )
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise PipelineError(
            f"{function}(cache={_format_cache(cache)}): the folder {folder} cannot be made: "
            f"{error.strerror}. For a cache, give {_CACHE_CHOICES}"
        ) from error
    return CachePlace("disk", folder, f"cached in a file in {folder} ({size})")


def _memory_place(needed_bytes: int, function: str) -> CachePlace:
    size, free = units.size(needed_bytes), units.size(free_memory_bytes())
    if needed_bytes > free_memory_bytes():
        raise PipelineError(
            f"{function}(cache='memory'): the decoded images take {size}, and {free} of memory are "
            "free. Give cache='auto' or cache='disk', or a smaller size"
        )
    return CachePlace("memory", "", f"cached in memory ({size} of {free} free)")


def _automatic_place(needed_bytes: int) -> CachePlace:
    size, memory = units.size(needed_bytes), free_memory_bytes()
    if needed_bytes <= memory * MEMORY_SHARE:
        return CachePlace("memory", "", f"cached in memory ({size} of {units.size(memory)} free)")
    folder = _temporary_folder()
    disk = 0 if _is_memory_folder(folder) else free_disk_bytes(folder)
    room = f"{units.size(memory)} of memory and {units.size(disk)} of disk are free"
    if needed_bytes <= disk * _DISK_SHARE:
        return CachePlace("disk", folder, f"cached in a file in {folder} ({size}; {room})")
    return CachePlace("none", "", f"not cached ({size} would be needed; {room})")


def _checked_folder(cache: object, function: str) -> str:
    """Return the folder that the user named; it, or the one around it, is there."""
    if not isinstance(cache, str | os.PathLike):
        raise UsageError(f"{function}(cache={cache!r}): give {_CACHE_CHOICES}")
    name = os.fsdecode(cache)
    folder = os.path.abspath(os.path.expanduser(name))
    if os.path.isdir(folder):
        return folder
    # A word that is none of ours is more often a slip than a folder.
    if isinstance(cache, str) and os.sep not in name:
        raise UsageError(
            f"{function}(cache={cache!r}): give {_CACHE_CHOICES}. A new folder of that name is "
            f"cache={os.path.join(os.curdir, name)!r}"
        )
    if not os.path.isdir(os.path.dirname(folder)):
        raise UsageError(
            f"{function}(cache={_format_cache(cache)}): there is no folder "
            f"{os.path.dirname(folder)} to make "
            f"it in. Check the path, or give {_CACHE_CHOICES}"
        )
    return folder


def _format_cache(cache: object) -> str:
    return repr(os.fsdecode(cache) if isinstance(cache, os.PathLike) else cache)


def free_disk_bytes(folder: str) -> int:
    """Return the free space of a folder's file system."""
    return shutil.disk_usage(folder).free


def _temporary_folder() -> str:
    """Return the folder for temporary files, if it can another one than one that is memory."""
    folders = (tempfile.gettempdir(), "/var/tmp")
    usable = [folder for folder in folders if os.access(folder, os.W_OK)] or [folders[0]]
    return next((folder for folder in usable if not _is_memory_folder(folder)), usable[0])


def _is_memory_folder(folder: str) -> bool:
    real = os.path.realpath(folder)
    mounts = [
        mount
        for mount in psutil.disk_partitions(all=True)
        if os.path.commonpath([mount.mountpoint, real]) == mount.mountpoint
    ]
    innermost = max(mounts, key=lambda mount: len(mount.mountpoint), default=None)
    return innermost is not None and innermost.fstype in ("tmpfs", "ramfs")


class ImageShelf(Protocol):
    """Room for a number of images of one size. Every method is called from many threads."""

    def write(self, indices: Indices, images: Pixels) -> None:
        """Keep images; `images` stays as it is, and may be held on to.

        Raises:
            OSError: the disk is full.
        """

    def read(self, indices: Indices) -> Pixels:
        """Return a batch of images that were kept."""
        ...


class MemoryShelf:
    """Keeps the decoded batches themselves: nothing is copied in the first epoch."""

    def __init__(self, count: int, shape: Shape) -> None:
        self._shape = shape
        self._kept: list[Pixels | None] = [None] * count

    def write(self, indices: Indices, images: Pixels) -> None:
        """Keep images; each is a view of its batch."""
        for index, image in zip(indices.tolist(), images, strict=True):
            self._kept[index] = image

    def read(self, indices: Indices) -> Pixels:
        """Return a batch of images that were kept; NumPy releases the GIL while it copies."""
        batch = empty_batch(len(indices), self._shape)
        return np.stack([self._kept[index] for index in indices.tolist()], out=batch)


class FileShelf:
    """Room for images in a file without a name: the system removes it however the process ends."""

    def __init__(self, folder: str, shape: Shape) -> None:
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                self._descriptor = os.dup(file.fileno())
        except OSError as error:
            raise PipelineError(
                f"the folder for the cache of decoded images, {folder}, cannot be written: "
                f"{error.strerror}. Name another: cache=FOLDER, or none: cache=None"
            ) from error
        weakref.finalize(self, os.close, self._descriptor)
        self._folder = folder
        self._shape = shape
        self._image_bytes = math.prod(shape)

    def write(self, indices: Indices, images: Pixels) -> None:
        """Keep images.

        Raises:
            OSError: the disk is full.
        """
        for index, image in zip(indices.tolist(), np.ascontiguousarray(images), strict=True):
            rest, at = image.data.cast("B"), index * self._image_bytes
            while rest:
                done = os.pwrite(self._descriptor, rest, at)
                rest, at = rest[done:], at + done

    def read(self, indices: Indices) -> Pixels:
        """Return a batch of images that were kept."""
        batch = empty_batch(len(indices), self._shape)
        for image, index in zip(batch, indices.tolist(), strict=True):
            rest, at = image.data.cast("B"), index * self._image_bytes
            while rest:
                done = os.preadv(self._descriptor, [rest], at)
                if not done:
                    raise PipelineError(
                        f"the cache of decoded images in {self._folder} ends at byte {at:,}, "
                        "although more was written: something cut the file. Run it again, or "
                        "without: cache=None"
                    )
                rest, at = rest[done:], at + done
        return batch


def new_shelf(place: CachePlace, count: int, shape: Shape) -> ImageShelf | None:
    """Return room for so many images; None where nothing is cached."""
    if place.kind == "memory":
        return MemoryShelf(count, shape)
    return FileShelf(place.folder, shape) if place.kind == "disk" else None


class ImageCache:
    """Knows which images a shelf holds, and when it holds all of them.

    It does not hold on to the shelf: functions that TensorFlow never lets go of use the cache,
    and the memory is to be free when the dataset is gone.

    Args:
        shelf: where they are kept, as long as somebody else has it.
        count: of the images.
    """

    def __init__(self, shelf: ImageShelf, count: int) -> None:
        self._shelf = weakref.ref(shelf)
        self._is_kept = np.zeros(count, bool)
        self._is_off = False
        self._lock = threading.Lock()

    def keep(self, indices: Indices, images: Pixels) -> Indices:
        """Keep a batch, which stays as it is; a full disk turns the cache off and ends nothing."""
        shelf, is_new = self._shelf(), ~self._is_kept[indices]
        if shelf is None or self._is_off or not is_new.any():
            return indices
        try:
            # Part of a batch is copied: a view would hold on to all of it.
            shelf.write(indices[is_new], images if is_new.all() else images[is_new])
        except OSError as error:
            self._turn_off(error)
            return indices
        self._is_kept[indices] = True
        return indices

    def has(self, indices: Indices) -> bool:
        """Return whether all of these images are kept."""
        return self._shelf() is not None and bool(self._is_kept[indices].all())

    def read(self, indices: Indices) -> Pixels:
        """Return a batch of images that were kept."""
        shelf = self._shelf()
        if shelf is None:
            raise PipelineError(
                "the dataset that cached these images is gone, and an iterator of it goes on. Keep "
                "the dataset in a variable as long as it is used, or give cache=None"
            )
        return shelf.read(indices)

    def usable(self, left_out: Collection[int]) -> Indices:
        """Return the indices of all images if each is kept or left out; otherwise none."""
        is_used = np.ones(len(self._is_kept), bool)
        is_used[list(left_out)] = False
        if self._shelf() is None or self._is_off or not self._is_kept[is_used].all():
            return np.empty(0, np.int64)
        return np.flatnonzero(is_used).astype(np.int64)

    def _turn_off(self, error: OSError) -> None:
        with self._lock:
            if self._is_off:
                return
            self._is_off = True
        kept = units.count(int(self._is_kept.sum()))
        terminal.say(
            f"no more images are cached: {error.strerror} after {kept} images. Later epochs"
            " decode again; training goes on."
        )


def cached_batches(
    decoded: Dataset,
    cache: ImageCache,
    epochs: EpochOrder,
    faults: ImageFaults,
    options: PipelineOptions,
) -> Dataset:
    """Return batches of `(index, image)` from the files, or from the cache once it is whole.

    Args:
        decoded: such batches from the files.
        cache: what is cached.
        epochs: the order of later epochs.
        faults: the images that are never going to be there.
        options: the size of images and batches.
    """
    import tensorflow as tf

    def usable() -> Indices:
        return cache.usable(faults.left_out)

    @without_autograph
    def keep(indices: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        return tensor_from_python(cache.keep, [indices, batch], tf.int64, (None,)), batch

    @without_autograph
    def begun(_: Tensor) -> Tensor:
        return tensor_from_python(lambda: np.bool_(len(usable()) > 0), [], tf.bool, ())

    def ordered() -> Indices:
        indices = usable()
        return indices[epochs.order(int(epochs.begin()), len(indices))]

    kept = decoded.map(keep, num_parallel_calls=tf.data.AUTOTUNE)
    stored = _batches_from_cache(cache, ordered, options)

    # What is taken nothing of is not even begun: an epoch from the cache starts in a few
    # milliseconds, where preparing to decode takes a tenth of a second.
    @without_autograph
    def chosen(is_stored: Tensor) -> Dataset:
        everything, nothing = tf.constant(-1, tf.int64), tf.constant(0, tf.int64)
        first = kept.take(tf.where(is_stored, nothing, everything))
        return first.concatenate(stored.take(tf.where(is_stored, everything, nothing)))

    return tf.data.Dataset.from_tensors(0).map(begun).flat_map(chosen)


def _batches_from_cache(
    cache: ImageCache, ordered: Callable[[], Indices], options: PipelineOptions
) -> Dataset:
    """Return batches of `(index, image)` from the cache, in an order drawn for each pass."""
    import tensorflow as tf

    shape = (None, *options.image_shape)

    @without_autograph
    def begun(_: Tensor) -> Tensor:
        return tensor_from_python(ordered, [], tf.int64, (None,))

    @without_autograph
    def batched(order: Tensor) -> Dataset:
        return tf.data.Dataset.from_tensor_slices(order).batch(options.batch)

    @without_autograph
    def read(indices: Tensor) -> tuple[Tensor, Tensor]:
        return indices, tensor_from_python(cache.read, [indices], tf.uint8, shape)

    batches = tf.data.Dataset.from_tensors(0).map(begun).flat_map(batched)
    return batches.map(read, num_parallel_calls=tf.data.AUTOTUNE)


class BatchReader(Protocol):
    """Reads batches of a pack by position. Called from many threads."""

    def read(self, positions: Positions) -> tuple[Pixels, Positions]:
        """Return the images at these positions, and the positions of those that can be used."""
        ...


class CachedReader:
    """Batches of a reader, each image read once.

    Args:
        reader: reads what is not kept yet.
        cache: of the images, by their place in `own`.
        own: all positions that are asked for, growing.
    """

    def __init__(self, reader: BatchReader, cache: ImageCache, own: Positions) -> None:
        self._reader = reader
        self._cache = cache
        self._own = own

    def read(self, positions: Positions) -> tuple[Pixels, Positions]:
        """Return the images at these positions, and the positions of those that can be used."""
        slots = np.searchsorted(self._own, positions)
        if self._cache.has(slots):
            return self._cache.read(slots), positions
        images, used = self._reader.read(positions)
        # A copy: TensorFlow may write into the batch that it is given.
        self._cache.keep(np.searchsorted(self._own, used), images.copy())
        return images, used
