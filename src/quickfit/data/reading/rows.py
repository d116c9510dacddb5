"""Fills rows of a batch with the images of records: pixels as they are, or decoded and resized."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from quickfit.data import pixels
from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.imaging.natively import decoded as shrunk
from quickfit.data.packing.example import BrokenExampleError, parsed
from quickfit.data.pixels.resizing import Filter
from quickfit.data.reading.shards import Shards, Spot

Pixels = NDArray[np.uint8]
Shape = tuple[int, int, int]
Resize = Literal["bilinear", "antialias", "crop", "pil"]
_FILTERS: dict[Resize, Filter] = {
    "bilinear": "plain",
    "antialias": "bilinear",
    "crop": "bilinear",
    "pil": "bicubic",
}
RESIZES = tuple(_FILTERS)
# How the entry of the image begins in a message: its name, with key and length.
_IMAGE = b"\x0a\x05image"


class Rows(Protocol):
    """Reads images of one pack. Every method is called from many threads."""

    def fill(self, spot: Spot, out: Pixels) -> None:
        """Put the image of a record into `out`.

        Raises:
            SourceImageError: the record or its image is damaged.
        """


class StoredRows:
    """Images of a raw pack in the size they are stored in: read straight into the batch."""

    def __init__(self, shards: Shards, stored: Shape) -> None:
        self._shards = shards
        self._stored = stored
        self._before = _before_value(int(np.prod(stored)))

    def fill(self, spot: Spot, out: Pixels) -> None:
        """Put the image of a record into `out`."""
        start = self._shards.read_end(spot, out.data.cast("B"))
        if not start.endswith(self._before):
            sides = " × ".join(map(str, self._stored))
            raise SourceImageError(Reason.CORRUPT, f"does not hold {sides} pixels")


class ResizedRows:
    """Images of a raw pack in another size."""

    def __init__(self, shards: Shards, stored: Shape, resize: Resize) -> None:
        self._rows = StoredRows(shards, stored)
        self._stored = stored
        self._resize = resize

    def fill(self, spot: Spot, out: Pixels) -> None:
        """Put the image of a record into `out`."""
        image = np.empty(self._stored, np.uint8)
        self._rows.fill(spot, image)
        fit(image, out, self._resize)


class DecodedRows:
    """Images of a pack of image files."""

    def __init__(self, shards: Shards, resize: Resize) -> None:
        self._shards = shards
        self._resize = resize

    def fill(self, spot: Spot, out: Pixels) -> None:
        """Put the image of a record into `out`."""
        decoded(image_of(self._shards.content(spot)), out, self._resize)


def _before_value(size: int) -> bytes:
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
        return parsed(message).image
    except BrokenExampleError as error:
        raise SourceImageError(Reason.CORRUPT, f"is no record of a pack: {error}") from None


def _image_start(message: bytes) -> int:
    """Return where the image begins that ends the message, as the packer writes it; 0 if not so.

    A tenth of the time of reading all fields.
    """
    try:
        _, at = _sized(message, 0)
        while True:
            length, inside = _sized(message, at)
            if message.startswith(_IMAGE, inside):
                break
            at = inside + length
        at = inside + len(_IMAGE)
        for _ in range(3):  # the feature, its list of bytes, the first of them
            length, at = _sized(message, at)
    except IndexError:
        return 0
    return at if at + length == len(message) else 0


def _sized(message: bytes, at: int) -> tuple[int, int]:
    """Return the length of the field at `at`, and where its value begins."""
    length = shift = 0
    while True:
        at += 1
        byte = message[at]
        length |= (byte & 0x7F) << shift
        if byte < 0x80:
            return length, at + 1
        shift += 7


def fit(image: Pixels, out: Pixels, resize: Resize) -> None:
    """Bring an image to the size of `out`."""
    if image.shape == out.shape:
        out[...] = image
    else:
        part = _middle(image, *out.shape[:2]) if resize == "crop" else image
        pixels.resize_into(part, out, filter=_FILTERS[resize])


def _middle(image: Pixels, height: int, width: int) -> Pixels:
    """Return the largest part in the middle that has the shape asked for."""
    shrink = min(image.shape[0] / height, image.shape[1] / width)
    rows, columns = (max(1, round(side * shrink)) for side in (height, width))
    top, left = (image.shape[0] - rows) // 2, (image.shape[1] - columns) // 2
    return np.ascontiguousarray(image[top : top + rows, left : left + columns])


def decoded(content: bytes, out: Pixels, resize: Resize) -> None:
    """Decode an image file into `out`.

    Raises:
        SourceImageError: it cannot be decoded.
    """
    # Bilinear as in `images`, to the bit: a large JPEG is shrunk while it is decoded.
    is_plain = resize == "bilinear"
    image = shrunk(content, out.shape[:2]) if is_plain else pixels.decode(content)
    fit(image, out, resize)
