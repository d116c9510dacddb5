"""Writes an image as JPEG: the same pixels give the same bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quickfit.data.pixels._faults import too_large

# What libjpeg-turbo writes at most, in each direction.
_MAX_SIDE = 65_500


def encode_jpeg(image: NDArray[np.uint8], *, quality: int) -> bytes:
    """Return an RGB image as a JPEG file with half the colour resolution (4:2:0).

    Raises:
        SourceImageError: a side is longer than a JPEG can be.
    """
    import simplejpeg

    height, width = image.shape[:2]
    if max(height, width) > _MAX_SIDE:
        raise too_large(
            f"has {width:,}×{height:,} pixels; a JPEG has {_MAX_SIDE:,} at most on a side"
        )
    encoded: bytes = simplejpeg.encode_jpeg(
        np.ascontiguousarray(image), quality=quality, colorspace="RGB", colorsubsampling="420"
    )
    return encoded
