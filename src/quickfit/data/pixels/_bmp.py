"""The structure of a BMP file: its header, and how many bytes of pixels must follow."""

from __future__ import annotations

import struct

from quickfit.data.pixels import _exif
from quickfit.data.pixels._faults import corrupt, truncated

MAGIC = b"BM"

_OLD_HEADER_BYTES = 12
_HEADER_BYTES = 40
_FILE_HEADER_BYTES = 14
# Compression: none, bit fields, bit fields with alpha.
_PLAIN = frozenset({0, 3, 6})
_RUN_LENGTH = frozenset({1, 2})
_DEPTHS = frozenset({1, 2, 4, 8, 16, 24, 32})


def is_bmp(content: bytes) -> bool:
    """Return whether the file begins as a BMP does: two letters alone would be many texts."""
    if not content.startswith(MAGIC):
        return False
    header_bytes = int.from_bytes(content[14:18], "little")
    return header_bytes in (_OLD_HEADER_BYTES, 16, 64) or _HEADER_BYTES <= header_bytes <= 124


def facts(content: bytes) -> tuple[int, int, int, int]:
    """Return width, height, channels and orientation; the file is whole."""
    header_bytes = int.from_bytes(content[14:18], "little")
    if len(content) < _FILE_HEADER_BYTES + min(header_bytes, _HEADER_BYTES):
        raise truncated(content, "its header is complete")
    width, height, depth, compression = _header(content, header_bytes)
    if depth not in _DEPTHS or width < 0:
        raise corrupt(f"its header gives a width of {width} and {depth} bits per pixel")
    # A negative height means that the first row is the top one.
    height = abs(height)
    _check_length(content, (width * depth + 31) // 32 * 4 * height, compression)
    return width, height, 4 if depth == 32 else 3, _exif.UPRIGHT


def _header(content: bytes, header_bytes: int) -> tuple[int, int, int, int]:
    if header_bytes == _OLD_HEADER_BYTES:
        width, height, _planes, depth = struct.unpack_from("<HHHH", content, 18)
        return width, height, depth, 0
    width, height, _planes, depth = struct.unpack_from("<iiHH", content, 18)
    if header_bytes < _HEADER_BYTES:
        return width, height, depth, 0
    return width, height, depth, int.from_bytes(content[30:34], "little")


def _check_length(content: bytes, pixel_bytes: int, compression: int) -> None:
    start = int.from_bytes(content[10:14], "little")
    if compression in _RUN_LENGTH:
        pixel_bytes = max(int.from_bytes(content[34:38], "little"), 2)
    elif compression not in _PLAIN:
        raise corrupt(f"its pixels are stored in a way BMP does not have ({compression})")
    if start + pixel_bytes > len(content):
        raise truncated(content, f"the {start + pixel_bytes:,} that its header needs")
