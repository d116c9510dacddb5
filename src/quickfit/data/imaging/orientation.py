"""Turns a JPEG the right way up, at next to no cost for files that say nothing about it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quickfit.data import pixels
from quickfit.data.imaging._graph import Tensor
from quickfit.data.pixels import upright

# EXIF data is the first thing in a JPEG, or follows the 20 bytes of JFIF. Only a colour profile
# is known to come before it at times, and that names itself in the same place.
_LOOK_BYTES = 256
_MAY_TELL = r"\C*(?:Exif\x00\x00|ICC_PROFILE)\C*"

# From this number on, height and width change places.
_FIRST_ON_ITS_SIDE = 5

# How far libjpeg can shrink while it decodes, at no cost in quality that a plain resize keeps.
RATIOS = (1, 2, 4, 8)


def may_be_turned(content: Tensor) -> Tensor:
    """Return whether a JPEG file may tell its orientation: a look at its start, 2 µs."""
    import tensorflow as tf

    start = tf.strings.substr(content, 0, _LOOK_BYTES)
    return tf.strings.regex_full_match(start, _MAY_TELL)


def shrunk_upright(
    content: bytes, header: pixels.Header, at_least: tuple[int, int]
) -> NDArray[np.uint8]:
    """Return the image of a JPEG file, turned, and shrunk as far as `at_least` allows.

    In Python: files with EXIF data come from cameras, and the call is nothing beside decoding
    them, which does not hold the GIL.

    Raises:
        SourceImageError: it cannot be decoded.
    """
    import simplejpeg

    needed = at_least[::-1] if header.orientation >= _FIRST_ON_ITS_SIDE else at_least
    sides = [(-(-header.height // ratio), -(-header.width // ratio)) for ratio in reversed(RATIOS)]
    height, width = next(
        (pair for pair in sides if pair[0] >= needed[0] and pair[1] >= needed[1]), sides[-1]
    )
    try:
        # Strict: otherwise the rows behind a fault are whatever was in memory there.
        stored = simplejpeg.decode_jpeg(content, fastdct=True, min_height=height, min_width=width)
    except ValueError:
        # Broken, or one of the kinds that only Pillow reads.
        return pixels.decode(content, header=header)
    return upright(stored, header.orientation)
