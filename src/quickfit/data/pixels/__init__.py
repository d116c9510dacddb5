"""Images without TensorFlow: look at a header, decode, resize, encode.

Every function may be called from many threads at once; decoding, resizing and encoding release
the GIL while they work.
"""

from quickfit.data.pixels.batching import empty_batch
from quickfit.data.pixels.decoding import decode, upright
from quickfit.data.pixels.encoding import encode_jpeg
from quickfit.data.pixels.header import MAX_PIXELS, Header, look
from quickfit.data.pixels.resizing import is_compiled, resize, resize_into, shrink

__all__ = [
    "MAX_PIXELS",
    "Header",
    "decode",
    "empty_batch",
    "encode_jpeg",
    "is_compiled",
    "look",
    "resize",
    "resize_into",
    "shrink",
    "upright",
]
