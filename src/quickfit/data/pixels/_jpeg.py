"""The structure of a JPEG file: segments up to the picture's data, and its end.

The markers are those of ITU-T T.81, table B.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from quickfit.data.pixels import _exif
from quickfit.data.pixels._faults import corrupt, truncated

MAGIC = b"\xff\xd8\xff"

_START_OF_SCAN = 0xDA
_END_OF_IMAGE = 0xD9
_APP1 = 0xE1
# Start of frame: all of C0 to CF but three that are tables.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# Markers without a length: TEM, restarts and a second start of image.
_BARE = frozenset({0x01, 0xD8, *range(0xD0, 0xD8)})
# Ordinary files have about ten, a large depth map some hundred; a file of nothing but empty
# segments must not keep us busy for minutes.
_MAX_SEGMENTS = 10_000
# A frame's header up to its number of components.
_FRAME_BYTES = 6


class Segment(NamedTuple):
    """A marker, and where its payload lies in the file."""

    marker: int
    start: int
    end: int


def facts(content: bytes) -> tuple[int, int, int, int]:
    """Return width, height, channels and orientation; the file is whole."""
    width = height = channels = 0
    orientation = _exif.UPRIGHT
    end = 2
    for marker, start, end in segments(content):
        if marker in _FRAMES and not channels:
            if end - start < _FRAME_BYTES:
                raise corrupt("its frame header is too short")
            height = int.from_bytes(content[start + 1 : start + 3], "big")
            width = int.from_bytes(content[start + 3 : start + 5], "big")
            channels = content[start + 5]
        elif marker == _APP1 and content.startswith(_exif.PREFIX, start):
            orientation = _exif.orientation(content[start:end])
    if not channels:
        raise corrupt("its picture data begins without a frame header that gives its size")
    # Nothing in the picture's data reads FF D9, so one after it ends a picture that is whole.
    # Searched from the back: phones append data of their own, but seldom much.
    if content.rfind(b"\xff\xd9", end) < 0:
        raise truncated(content, "its end-of-image marker")
    return width, height, channels, orientation


def segments(content: bytes) -> Iterator[Segment]:
    """Yield the segments from the first to the start of the first scan, which is the last."""
    at = 2
    for _ in range(_MAX_SEGMENTS):
        # Bytes that are no marker, and fill bytes, are skipped: decoders do the same.
        at = content.find(b"\xff", at)
        while at >= 0 and content[at + 1 : at + 2] == b"\xff":
            at += 1
        if at < 0 or at + 4 > len(content):
            raise truncated(content, "its picture data begins")
        marker = content[at + 1]
        if marker == _END_OF_IMAGE:
            raise corrupt(f"its end-of-image marker comes at byte {at:,}, before any picture data")
        if marker in _BARE or marker == 0:
            at += 2
            continue
        end = at + 2 + int.from_bytes(content[at + 2 : at + 4], "big")
        if end > len(content):
            raise truncated(content, "its picture data begins")
        if end < at + 4:
            raise corrupt(f"the segment at byte {at:,} has an impossible length")
        yield Segment(marker, at + 4, end)
        if marker == _START_OF_SCAN:
            return
        at = end
    raise corrupt(f"it has more than {_MAX_SEGMENTS:,} segments before its picture data")


def tidied(content: bytes) -> bytes:
    """Return the file without EXIF data and without bytes between its segments.

    Pillow warns of odd EXIF data, and takes a file for broken that has such bytes.
    """
    pieces = [content[:2]]
    end = 2
    for marker, start, end in segments(content):
        if marker != _APP1:
            pieces.append(content[start - 4 : end])
    pieces.append(content[end:])
    return b"".join(pieces)
