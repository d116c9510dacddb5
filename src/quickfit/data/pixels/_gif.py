"""The structure of a GIF file: its blocks up to the trailer.

The blocks are those of the GIF89a specification.
"""

from __future__ import annotations

import struct

from quickfit.data.pixels import _exif
from quickfit.data.pixels._faults import corrupt, truncated

MAGICS = (b"GIF87a", b"GIF89a")

_SCREEN_BYTES = 13
_MAX_SIDE = 0xFFFF
_FRAME_BYTES = 10
_HAS_TABLE = 0x80
_EXTENSION, _FRAME, _TRAILER = 0x21, 0x2C, 0x3B


def facts(content: bytes) -> tuple[int, int, int, int]:
    """Return width, height, channels and orientation; the file is whole."""
    if len(content) < _SCREEN_BYTES:
        raise truncated(content, "its header is complete")
    width, height, flags = struct.unpack_from("<HHB", content, 6)
    first = _walk(content, _SCREEN_BYTES + _table_bytes(flags))
    if first < 0:
        raise corrupt("it has no picture")
    left, top, frame_width, frame_height = struct.unpack_from("<HHHH", content, first + 1)
    # A first frame that reaches over the edge makes the picture larger, as Pillow reads it.
    width, height = max(width, left + frame_width), max(height, top + frame_height)
    if max(width, height) > _MAX_SIDE:
        raise corrupt(f"its first frame reaches to {width:,}×{height:,} pixels, beyond any GIF")
    return width, height, 3, _exif.UPRIGHT


def with_screen(content: bytes, width: int, height: int) -> bytes:
    """Return the file with another size in its header.

    Pillow warns of a large picture where the first frame is what makes it large.
    """
    return content[:6] + struct.pack("<HH", width, height) + content[10:]


def _walk(content: bytes, at: int) -> int:
    """Follow the blocks to the trailer; return where the first frame is, -1 without one."""
    first = -1
    try:
        while (block := content[at]) != _TRAILER:
            if block == _FRAME:
                first = at if first < 0 else first
                # The frame's table of colours, and the byte that gives the size of its codes.
                at += _FRAME_BYTES + _table_bytes(content[at + 9]) + 1
            elif block == _EXTENSION:
                at += 2
            else:
                raise corrupt(f"the block at byte {at:,} is of a kind that GIF does not have")
            while size := content[at]:
                at += size + 1
            at += 1
    except IndexError:
        raise truncated(content, "its trailer") from None
    return first


def _table_bytes(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & _HAS_TABLE else 0
