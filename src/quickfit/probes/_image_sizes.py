"""The size of an image from the first bytes of its file, without decoding it."""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

# Cameras put previews and colour profiles before the size; nearly all of them fit in here.
HEAD_BYTES = 65_536
# A JPEG's frame header; the other markers of this range are tables.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class ImageSize(NamedTuple):
    """What the head of an encoded image says of it."""

    kind: str
    height: int
    width: int
    bytes: int


def image_size(data: bytes) -> ImageSize | None:
    """Return the size of an image that is given as a path or as its encoded bytes."""
    if data.startswith((b"\xff\xd8", b"\x89PNG")):
        return _of_head(data[:HEAD_BYTES], len(data))
    path = os.fsdecode(data)
    if len(path) > 4096 or "\0" in path or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return _of_head(file.read(HEAD_BYTES), os.path.getsize(path))


def _of_head(head: bytes, size: int) -> ImageSize | None:
    if head.startswith(b"\x89PNG") and len(head) >= 24:
        width, height = struct.unpack(">II", head[16:24])
        return ImageSize("png", height, width, size)
    return _of_jpeg(head, size) if head.startswith(b"\xff\xd8") else None


def _of_jpeg(head: bytes, size: int) -> ImageSize | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker, length = head[at + 1], struct.unpack(">H", head[at + 2 : at + 4])[0]
        if marker in _FRAMES:
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return ImageSize("jpeg", height, width, size)
        at += 2 + length
    return None
