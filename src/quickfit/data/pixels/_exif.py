"""The one thing EXIF data is read for: which way up the camera was held."""

from __future__ import annotations

import struct

UPRIGHT = 1
# What begins the EXIF data of a JPEG; WebP files of some cameras carry it too.
PREFIX = b"Exif\0\0"

_ORIENTATION_TAG = 0x0112
_SHORT = 3
_ENTRY_BYTES = 12


def orientation(exif: bytes) -> int:
    """Return the orientation, 1 to 8, that EXIF data tells; upright where it tells nothing.

    EXIF data that makes no sense is passed over: every viewer shows such a photograph too.
    """
    tiff = exif.removeprefix(PREFIX)
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4])
    if order is None or len(tiff) < 8:
        return UPRIGHT
    (start,) = struct.unpack_from(order + "I", tiff, 4)
    if start + 2 > len(tiff):
        return UPRIGHT
    (count,) = struct.unpack_from(order + "H", tiff, start)
    return _find(tiff[start + 2 : start + 2 + count * _ENTRY_BYTES], order)


def _find(entries: bytes, order: str) -> int:
    entry = struct.Struct(order + "HHIH")
    for at in range(0, len(entries) - _ENTRY_BYTES + 1, _ENTRY_BYTES):
        tag, kind, count, value = entry.unpack_from(entries, at)
        if tag == _ORIENTATION_TAG:
            is_valid = kind == _SHORT and count == 1 and 1 <= value <= 8
            return value if is_valid else UPRIGHT
    return UPRIGHT
