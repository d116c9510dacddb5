"""The four ways to bring an image file to the size of a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quickfit.data import pixels
from quickfit.data.entries import SourceImageError
from quickfit.data.imaging._graph import Tensor, in_python
from quickfit.data.imaging.decoding import NO_IMAGE, decode
from quickfit.data.imaging.natively import decoded

Resize = Literal["bilinear", "antialias", "crop", "pil"]
RESIZES: tuple[Resize, ...] = ("bilinear", "antialias", "crop", "pil")

# Antialiasing averages over what it shrinks: from twice the size on, it hides what the decoder
# left out.
_ANTIALIAS_MARGIN = 2


def loader(resize: Resize, height: int, width: int) -> Callable[[Tensor], Tensor]:
    """Return the function that makes a uint8 image of this size from the content of a file."""
    ways: dict[Resize, Callable[..., Tensor]] = {
        "bilinear": _bilinear,
        "antialias": _antialias,
        "crop": _crop,
        "pil": _pil,
    }
    return functools.partial(ways[resize], height=height, width=width)


def _bilinear(content: Tensor, height: int, width: int) -> Tensor:
    """Return the image as batches made natively have it, to the bit."""
    import tensorflow as tf

    if not pixels.is_compiled():
        return _plain(decode(content, (height, width)), height, width)

    def loaded(file: bytes) -> NDArray[np.uint8]:
        try:
            return pixels.resize(decoded(file, (height, width)), height, width, filter="plain")
        except SourceImageError:
            return NO_IMAGE

    result = in_python(loaded, [content], tf.uint8, (None, None, 3))
    return tf.ensure_shape(result, (height, width, 3))


def _crop(content: Tensor, height: int, width: int) -> Tensor:
    """Return the largest part in the middle that has the shape asked for, resized."""
    import tensorflow as tf

    image = decode(content, (height, width))
    stored = tf.cast(tf.shape(image)[:2], tf.float32)
    shrink = tf.reduce_min(stored / (height, width))
    box = tf.maximum(tf.cast(tf.round((height, width) * shrink), tf.int32), 1)
    top, left = tf.unstack((tf.shape(image)[:2] - box) // 2)
    return _plain(image[top : top + box[0], left : left + box[1]], height, width)


def _plain(image: Tensor, height: int, width: int) -> Tensor:
    import tensorflow as tf

    # What `tf.image.resize` calls, without the dozen operations around it.
    resized = tf.raw_ops.ResizeBilinear(
        images=image[tf.newaxis], size=(height, width), half_pixel_centers=True
    )
    # The cheapest way to round: `tf.cast` cuts off, and an addition before it is a pass more.
    rounded = tf.raw_ops.QuantizeV2(
        input=resized, min_range=0.0, max_range=255.0, T=tf.quint8, mode="MIN_COMBINED"
    ).output
    return tf.reshape(tf.bitcast(rounded, tf.uint8), (height, width, 3))


def _antialias(content: Tensor, height: int, width: int) -> Tensor:
    import tensorflow as tf

    def resized(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return pixels.resize(image, height, width) if image.size else NO_IMAGE

    image = decode(content, (height * _ANTIALIAS_MARGIN, width * _ANTIALIAS_MARGIN))
    result = in_python(resized, [image], tf.uint8, (None, None, 3))
    return tf.ensure_shape(result, (height, width, 3))


def _pil(content: Tensor, height: int, width: int) -> Tensor:
    import tensorflow as tf

    def loaded(file: bytes) -> NDArray[np.uint8]:
        try:
            return pixels.resize(pixels.decode(file), height, width, filter="bicubic")
        except SourceImageError:
            return NO_IMAGE

    result = in_python(loaded, [content], tf.uint8, (None, None, 3))
    return tf.ensure_shape(result, (height, width, 3))
