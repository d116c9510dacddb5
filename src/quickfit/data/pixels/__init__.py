"""Images without TensorFlow: look at a header, decode, resize, encode.

Every function may be called from many threads at once; decoding, resizing and encoding release
the GIL while they work.
"""

from quickfit.data.pixels.codec import decode, encode_jpeg, upright
from quickfit.data.pixels.headers import MAX_PIXELS, ImageHeader, read_header
from quickfit.data.pixels.resizing import (
    Pixels,
    Shape,
    empty_batch,
    is_compiled,
    resize,
    resize_into,
    shrink,
)

__all__ = [
    "MAX_PIXELS",
    "ImageHeader",
    "Pixels",
    "Shape",
    "decode",
    "empty_batch",
    "encode_jpeg",
    "is_compiled",
    "read_header",
    "resize",
    "resize_into",
    "shrink",
    "upright",
]
