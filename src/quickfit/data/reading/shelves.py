"""Room for decoded images: in memory, or in a file."""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import Protocol

import numpy as np

from quickfit.data.pixels import empty_batch
from quickfit.data.reading.pack_index import Whole
from quickfit.data.reading.rows import Pixels, Shape
from quickfit.errors import PipelineError


class Shelf(Protocol):
    """Room for a number of images of one size. Every method is called from many threads."""

    def write(self, indices: Whole, images: Pixels) -> None:
        """Keep images."""

    def read(self, indices: Whole) -> Pixels:
        """Return a batch of images that were kept."""
        ...


class Memory:
    """Room for images in one array, which the system provides as it is filled.

    What is kept is a copy: TensorFlow may write into the batches that it was given.
    """

    def __init__(self, count: int, shape: Shape) -> None:
        self._images = np.empty((count, *shape), np.uint8)

    def write(self, indices: Whole, images: Pixels) -> None:
        """Keep images."""
        self._images[indices] = images

    def read(self, indices: Whole) -> Pixels:
        """Return a batch of images that were kept; NumPy releases the GIL while it copies."""
        batch = empty_batch(len(indices), self._images.shape[1:])
        # With `mode="raise"`, NumPy would copy everything once more.
        return np.take(self._images, indices, axis=0, out=batch, mode="clip")


class Disk:
    """Room for images in a file without a name: the system removes it however the process ends."""

    def __init__(self, folder: str, shape: Shape) -> None:
        try:
            file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open while we are
        except OSError as error:
            raise PipelineError(
                f"records(cache=...): no file can be made in {folder}: {error.strerror}. Name "
                "another folder, cache=FOLDER, or none, cache=None."
            ) from error
        weakref.finalize(self, file.close)
        self._file = file.fileno()
        self._shape = shape
        self._image_bytes = int(np.prod(shape))

    def write(self, indices: Whole, images: Pixels) -> None:
        """Keep images.

        Raises:
            OSError: the disk is full.
        """
        for index, image in zip(indices.tolist(), images, strict=True):
            rest, at = image.data.cast("B"), index * self._image_bytes
            while rest:
                done = os.pwrite(self._file, rest, at)
                rest, at = rest[done:], at + done

    def read(self, indices: Whole) -> Pixels:
        """Return a batch of images that were kept."""
        batch = empty_batch(len(indices), self._shape)
        for image, index in zip(batch, indices.tolist(), strict=True):
            room = image.data.cast("B")
            if os.preadv(self._file, [room], index * self._image_bytes) != len(room):
                raise PipelineError(
                    "the file with cached images has become shorter, although nobody should know "
                    "it. Run it again, or without a cache: records(..., cache=None)"
                )
        return batch
