"""Resizes images with antialiasing, by a compiled kernel that releases the GIL."""

from __future__ import annotations

import functools
from importlib import import_module
from types import ModuleType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
Shape = tuple[int, int, int]

# TensorFlow takes an array over as it is when it begins at such an address, and copies others.
_ALIGNED_BYTES = 64
Filter = Literal["bilinear", "bicubic", "plain"]
_FILTERS = ("bilinear", "bicubic", "plain")


def empty_batch(count: int, shape: tuple[int, ...]) -> Pixels:
    """Return room for a batch, placed so that TensorFlow need not copy it."""
    size = count * int(np.prod(shape))
    room = np.empty(size + _ALIGNED_BYTES, np.uint8)
    start = -room.ctypes.data % _ALIGNED_BYTES
    return room[start : start + size].reshape(count, *shape)


def is_compiled() -> bool:
    """Return whether the kernel is there; without it Pillow resizes, slower but the same."""
    return _load_kernel() is not None


def resize(image: Pixels, height: int, width: int, *, filter: Filter = "bilinear") -> Pixels:
    """Return the image in another size, as Pillow's filter of that name makes it.

    Args:
        image: `[height, width, channels]` with one or three channels.
        height: of the result, in pixels.
        width: of the result, in pixels.
        filter: every pixel that a new one covers has its share in it, also when shrinking; of
            "plain" only the four nearest, as in TensorFlow's bilinear resize.
    """
    _check_image(image)
    if height < 1 or width < 1:
        raise ValueError(f"height and width must be at least 1, not {height} and {width}")
    out = np.empty((height, width, image.shape[2]), np.uint8)
    resize_into(image, out, filter=filter)
    return out


def resize_into(image: Pixels, out: Pixels, *, filter: Filter = "bilinear") -> None:
    """Resize the image into `out`, such as one row of a batch, without an array in between."""
    _check_image(image)
    _check_image(out)
    if filter not in _FILTERS:
        raise ValueError(f"filter must be 'bilinear', 'bicubic' or 'plain', not {filter!r}")
    if out.shape[2] != image.shape[2]:
        raise ValueError(f"image has {image.shape[2]} channels and out has {out.shape[2]}")
    # A crop is resized where it lies: only the pixels of a row must be neighbours.
    source = image if _has_whole_rows(image) else np.ascontiguousarray(image)
    target = out if _has_whole_rows(out) else np.empty(out.shape, np.uint8)
    kernel = _load_kernel()
    if kernel is None:
        target[...] = _resize_in_pillow(source, out.shape[0], out.shape[1], filter)
    else:
        kernel.resize(source, target, _FILTERS.index(filter))
    if target is not out:
        out[...] = target


def shrink(image: Pixels, short_side: int, *, filter: Filter = "bilinear") -> Pixels:
    """Return the image with its shorter side `short_side` pixels long; never enlarges."""
    height, width = image.shape[:2]
    shorter = min(height, width)
    if shorter <= short_side:
        return image
    height, width = (max(1, round(side * short_side / shorter)) for side in (height, width))
    return resize(image, height, width, filter=filter)


@functools.cache
def _load_kernel() -> ModuleType | None:
    try:
        return import_module("quickfit.data.pixels._resample")
    except ImportError:  # no compiler when it was installed
        return None


def _check_image(image: Pixels) -> None:
    if image.dtype != np.uint8:
        raise TypeError(f"pixels must be uint8, not {image.dtype}")
    if image.ndim != 3 or image.shape[2] not in (1, 3) or 0 in image.shape:
        raise ValueError(
            f"an image must be [height, width, 1 or 3], none of them 0, not {list(image.shape)}"
        )


def _has_whole_rows(image: Pixels) -> bool:
    return image.strides[1:] == (image.shape[2], 1)


def _resize_in_pillow(image: Pixels, height: int, width: int, filter: Filter) -> Pixels:
    from PIL import Image

    if filter == "plain":  # which Pillow does not have
        return _nearest_four(image, height, width)
    resampling = Image.Resampling[filter.upper()]
    plain = image[..., 0] if image.shape[2] == 1 else image
    resized = Image.fromarray(plain).resize((width, height), resampling)
    return np.asarray(resized).reshape(height, width, image.shape[2])


def _nearest_four(image: Pixels, height: int, width: int) -> Pixels:
    rows = _rows_between(image.astype(np.float32), height)
    both = _rows_between(rows.swapaxes(0, 1), width).swapaxes(0, 1)
    return np.ascontiguousarray((both + 0.5).astype(np.uint8))


def _rows_between(image: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Return the rows that lie at even distances between those of the image."""
    last = image.shape[0] - 1
    places = np.clip((np.arange(count) + 0.5) * ((last + 1) / count) - 0.5, 0, last)
    above = places.astype(np.intp)
    share = (places - above).astype(np.float32)[:, np.newaxis, np.newaxis]
    below = np.minimum(above + 1, last)
    between: NDArray[np.float32] = image[above] * (1 - share) + image[below] * share
    return between
