"""The structure of a PNG file: its chunks up to the last.

The chunks are those of the PNG specification (W3C, third edition), section 11.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from quickfit.data.pixels import _exif
from quickfit.data.pixels._faults import corrupt, truncated

MAGIC = b"\x89PNG\r\n\x1a\n"

# Colour type → channels; a palette holds RGB.
_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}
_HEADER_BYTES = 13
# Length, kind and checksum.
_FRAME_BYTES = 12
# More than a file of a gigabyte has; one of empty chunks must not keep us busy for minutes.
_MAX_CHUNKS = 200_000
# The chunks that make the pixels.
_PIXEL_CHUNKS = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND"})


class Chunk(NamedTuple):
    """A chunk's kind, and where its payload lies in the file."""

    kind: bytes
    start: int
    end: int


def facts(content: bytes) -> tuple[int, int, int, int]:
    """Return width, height, channels and orientation; the file is whole."""
    orientation = _exif.UPRIGHT
    has_data = False
    for kind, start, end in chunks(content):
        if kind == b"IDAT":
            has_data = True
        elif kind == b"eXIf":
            orientation = _exif.orientation(content[start:end])
    if not has_data:
        raise corrupt("it has no picture data")
    width, height, _depth, colour = struct.unpack_from(">IIBB", content, 16)
    if colour not in _CHANNELS:
        raise corrupt(f"its header gives a colour type of {colour}, which PNG does not have")
    return width, height, _CHANNELS[colour], orientation


def chunks(content: bytes) -> Iterator[Chunk]:
    """Yield the chunks from the first, which is the header, to the last, which ends the file."""
    at = len(MAGIC)
    size = len(content)
    for _ in range(_MAX_CHUNKS):
        if at + _FRAME_BYTES > size:
            raise truncated(content, "its end chunk")
        kind = content[at + 4 : at + 8]
        end = at + 8 + int.from_bytes(content[at : at + 4], "big")
        if at == len(MAGIC) and (kind != b"IHDR" or end - at - 8 != _HEADER_BYTES):
            raise corrupt("it does not begin with its header chunk")
        if end + 4 > size:
            raise truncated(content, "its end chunk")
        yield Chunk(kind, at + 8, end)
        if kind == b"IEND":
            return
        at = end + 4
    raise corrupt(f"it has more than {_MAX_CHUNKS:,} chunks")


def pixels_only(content: bytes) -> bytes:
    """Return the file with nothing but the chunks that make its pixels, each one checked.

    Pillow does not compare the checksums of picture data, stops at a wrong one of a comment, and
    warns of odd animations.
    """
    pieces = [MAGIC]
    for kind, start, end in chunks(content):
        if kind not in _PIXEL_CHUNKS:
            continue
        found = zlib.crc32(memoryview(content)[start - 4 : end])
        if found != int.from_bytes(content[end : end + 4], "big"):
            raise corrupt(f"the checksum of its {kind.decode()} chunk at byte {start:,} is wrong")
        pieces.append(content[start - 8 : end + 4])
    return b"".join(pieces)
