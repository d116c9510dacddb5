"""The structure of a WebP file: a RIFF container with one picture, or an animation.

The layout is that of RFC 9649.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from quickfit.data.pixels import _exif
from quickfit.data.pixels._faults import corrupt, truncated

_HEADER_BYTES = 12
_MAX_CHUNKS = 200_000
_START_CODE = b"\x9d\x01\x2a"
_LOSSLESS_MAGIC = 0x2F
_ALPHA_FLAG = 0x10
_BITS_14 = 0x3FFF
# Of a chunk's payload, what the size is read from.
_NEEDED_BYTES = {b"VP8 ": 10, b"VP8L": 5, b"VP8X": 10}
_PICTURES = frozenset({b"VP8 ", b"VP8L", b"ANMF"})


class Chunk(NamedTuple):
    """A chunk's kind, and where its payload lies in the file."""

    kind: bytes
    start: int
    end: int


def is_webp(content: bytes) -> bool:
    """Return whether the file begins as a WebP does."""
    return content.startswith(b"RIFF") and content[8:12] == b"WEBP"


def facts(content: bytes) -> tuple[int, int, int, int]:
    """Return width, height, channels and orientation; the file is whole."""
    end = 8 + int.from_bytes(content[4:8], "little")
    if end > len(content):
        raise truncated(content, f"the {end:,} that its header gives")
    size: tuple[int, int, int] | None = None
    orientation = _exif.UPRIGHT
    has_picture = False
    for kind, start, stop in _chunks(content, end):
        if size is None:
            size = _size(content, Chunk(kind, start, stop))
        has_picture = has_picture or kind in _PICTURES
        if kind == b"EXIF":
            orientation = _exif.orientation(content[start:stop])
    if size is None or not has_picture:
        raise corrupt("it has no picture data")
    return *size, orientation


def _chunks(content: bytes, end: int) -> Iterator[Chunk]:
    at = _HEADER_BYTES
    for _ in range(_MAX_CHUNKS):
        if at + 8 > end:
            return
        size = int.from_bytes(content[at + 4 : at + 8], "little")
        if at + 8 + size > end:
            raise corrupt(f"the chunk at byte {at:,} reaches beyond the end that its header gives")
        yield Chunk(content[at : at + 4], at + 8, at + 8 + size)
        at += 8 + size + size % 2
    raise corrupt(f"it has more than {_MAX_CHUNKS:,} chunks")


def _size(content: bytes, chunk: Chunk) -> tuple[int, int, int]:
    kind, start, end = chunk
    if end - start < _NEEDED_BYTES.get(kind, end):
        raise corrupt("it does not begin with the header of a picture")
    if kind == b"VP8X":
        width = 1 + int.from_bytes(content[start + 4 : start + 7], "little")
        height = 1 + int.from_bytes(content[start + 7 : start + 10], "little")
        return width, height, 4 if content[start] & _ALPHA_FLAG else 3
    if kind == b"VP8L":
        bits = int.from_bytes(content[start + 1 : start + 5], "little")
        if content[start] != _LOSSLESS_MAGIC:
            raise corrupt("its lossless picture does not begin as one")
        return 1 + (bits & _BITS_14), 1 + (bits >> 14 & _BITS_14), 4 if bits >> 28 & 1 else 3
    if content[start + 3 : start + 6] != _START_CODE:
        raise corrupt("its lossy picture does not begin as one")
    width, height = struct.unpack_from("<HH", content, start + 6)
    return width & _BITS_14, height & _BITS_14, 3
