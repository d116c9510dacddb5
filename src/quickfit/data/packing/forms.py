"""Turns the file of an image into what a record holds of it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.packing.example import MAX_IMAGE_BYTES, Record

if TYPE_CHECKING:
    import numpy as np

    from quickfit.data.packing.settings import Settings


class Stored(NamedTuple):
    """An image as a record holds it."""

    image: bytes
    format: str
    height: int
    width: int
    channels: int


def record(
    content: bytes, path: str, label: int, settings: Settings, *, sha256: bytes | None = None
) -> Record:
    """Return the record of an image's file; its SHA-256 where somebody has it already.

    Raises:
        SourceImageError: it cannot be used.
    """
    stored = _guarded(content, settings)
    digest = sha256 or hashlib.sha256(content).digest()
    return Record(*stored, label=label, path=path, sha256=digest)


def _guarded(content: bytes, settings: Settings) -> Stored:
    try:
        return _stored(content, settings)
    except (SourceImageError, MemoryError):
        raise
    except Exception as error:  # an image that breaks a decoder must not stop the pack
        detail = f"breaks the decoder: {type(error).__name__}: {error}"
        raise SourceImageError(Reason.CORRUPT, detail) from error


def _stored(content: bytes, settings: Settings) -> Stored:
    # Inside functions: a pack that only starts workers decodes nothing, and loads no NumPy.
    from quickfit.data import pixels

    if len(content) > MAX_IMAGE_BYTES:
        raise SourceImageError(Reason.TOO_LARGE, too_large_file(len(content)))
    header = pixels.look(content, max_pixels=settings.max_pixels)
    if settings.form == "original":
        if settings.check == "full":
            pixels.decode(content, header=header)
        return Stored(content, header.format, header.height, header.width, header.channels)
    return from_pixels(pixels.decode(content, header=header), settings)


def from_pixels(image: np.ndarray, settings: Settings) -> Stored:
    """Return RGB pixels in the form of the pack: jpeg256 or raw."""
    from quickfit.data import pixels

    height, width = settings.size or image.shape[:2]
    if settings.form == "raw":
        return Stored(pixels.resize(image, height, width).tobytes(), "raw", height, width, 3)
    small = pixels.shrink(image, height)
    content = pixels.encode_jpeg(small, quality=settings.quality or 0)
    return Stored(content, "jpeg", small.shape[0], small.shape[1], 3)


def too_large_file(size: int) -> str:
    """Say why a file of this size is left out."""
    return f"has {size:,} bytes, and a record holds at most {MAX_IMAGE_BYTES:,}"
