"""Keeps decoded images in memory or in a file, so that later epochs only copy them."""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections.abc import Collection
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quickfit import terminal, units
from quickfit.data.imaging.order import Indices
from quickfit.errors import PipelineError

Images = NDArray[np.uint8]


class Shelf(Protocol):
    """Room for a number of images of one size. Every method is called from many threads."""

    def write(self, indices: Indices, images: Images) -> None:
        """Keep images that are not kept yet; `images` stays as it is, and may be held on to."""

    def read(self, indices: Indices) -> Images:
        """Return a batch of images that were kept."""
        ...


class Memory:
    """Keeps the decoded batches themselves: nothing is copied in the first epoch."""

    def __init__(self, count: int) -> None:
        self._kept: list[Images | None] = [None] * count

    def write(self, indices: Indices, images: Images) -> None:
        """Keep images; each is a view of its batch."""
        for index, image in zip(indices.tolist(), images, strict=True):
            self._kept[index] = image

    def read(self, indices: Indices) -> Images:
        """Return a batch of images that were kept; NumPy releases the GIL while it copies."""
        return np.stack([self._kept[index] for index in indices.tolist()])


class File:
    """Keeps images in a file without a name: the system removes it however the process ends."""

    def __init__(self, folder: str, shape: tuple[int, int, int]) -> None:
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                self._descriptor = os.dup(file.fileno())
        except OSError as error:
            raise PipelineError(
                f"the folder for the cache of decoded images, {folder}, cannot be written: "
                f"{error.strerror}. Name another: images(..., cache=FOLDER), or none: cache=None"
            ) from error
        weakref.finalize(self, os.close, self._descriptor)
        self._folder = folder
        self._shape = shape
        self._image_bytes = int(np.prod(shape))

    def write(self, indices: Indices, images: Images) -> None:
        """Keep images."""
        for index, image in zip(indices.tolist(), np.ascontiguousarray(images), strict=True):
            content, at = image.data.cast("B"), index * self._image_bytes
            while content:
                done = os.pwrite(self._descriptor, content, at)
                content, at = content[done:], at + done

    def read(self, indices: Indices) -> Images:
        """Return a batch of images that were kept."""
        batch = np.empty((len(indices), *self._shape), np.uint8)
        for place, index in enumerate(indices.tolist()):
            self._read_into(batch[place].data.cast("B"), index * self._image_bytes)
        return batch

    def _read_into(self, rest: memoryview, at: int) -> None:
        while rest:
            done = os.preadv(self._descriptor, [rest], at)
            if not done:
                raise PipelineError(
                    f"the cache of decoded images in {self._folder} ends at byte {at:,}, although "
                    "more was written: something cut the file. Run it again, or without: cache=None"
                )
            rest, at = rest[done:], at + done


class Store:
    """Knows which images a shelf holds, and when it holds all of them.

    It does not hold on to the shelf: functions that TensorFlow never lets go of use the store,
    and the memory is to be free when the dataset is gone.

    Args:
        shelf: where they are kept, as long as somebody else has it.
        count: of the images.
    """

    def __init__(self, shelf: Shelf, count: int) -> None:
        self._shelf = weakref.ref(shelf)
        self._is_kept = np.zeros(count, bool)
        self._is_off = False
        self._lock = threading.Lock()

    def keep(self, indices: Indices, images: Images) -> Indices:
        """Keep a batch; a disk that is full turns the store off and ends nothing."""
        shelf, is_new = self._shelf(), ~self._is_kept[indices]
        if shelf is None or self._is_off or not is_new.any():
            return indices
        try:
            # Part of a batch is copied: a view would hold on to all of it.
            new = images if is_new.all() else images[is_new]
            shelf.write(indices[is_new], new)
        except OSError as error:
            self._turn_off(error)
            return indices
        self._is_kept[indices] = True
        return indices

    def read(self, indices: Indices) -> Images:
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
            f"the cache of decoded images is off: {error.strerror} after {kept} images. Every"
            " epoch decodes the files again; training goes on."
        )
