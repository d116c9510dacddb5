"""What an image file says of itself, and whether it is whole, without decoding it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.pixels import _bmp, _gif, _jpeg, _png, _webp
from quickfit.data.pixels._faults import corrupt, too_large, truncated

# Beyond it Pillow refuses a file as a decompression bomb: half a gigabyte of pixels.
MAX_PIXELS = 178_956_970

# What people find in image folders instead of images: how it begins, where, and what to say.
_OTHERS = (
    (0, b"\0\0\0\0\0\0\0\0", "begins with zeros, as files do that were never written to the end"),
    (0, b"%PDF", "is a PDF document"),
    (0, b"II*\0", "is a TIFF image, which is not read here: convert it to PNG"),
    (0, b"MM\0*", "is a TIFF image, which is not read here: convert it to PNG"),
    (4, b"ftyphei", "is a HEIC photograph, which is not read here: convert it to JPEG"),
    (4, b"ftypmif1", "is a HEIC photograph, which is not read here: convert it to JPEG"),
    (4, b"ftypavif", "is an AVIF image, which is not read here: convert it to JPEG"),
    (4, b"ftyp", "is a video"),
    (0, b"PK\x03\x04", "is a zip archive"),
    (0, b"\x1f\x8b", "is gzip data"),
    (0, b"\0\0\1\0", "is an icon file, which is not read here: convert it to PNG"),
    (0, b"\0\x05\x16\x07", "is a file of macOS that goes with another one"),
    (0, b"version https://git-lfs", "is a pointer of Git LFS: fetch the file with `git lfs pull`"),
)
_MARKUP = (b"<!doctype", b"<html", b"<head", b"<?xml", b"<svg", b"<error")


@dataclass(frozen=True, slots=True)
class Header:
    """What the header of an image file tells.

    Args:
        format: `jpeg`, `png`, `gif`, `bmp` or `webp`.
        width: in pixels as stored, before the orientation is applied.
        height: in pixels as stored, before the orientation is applied.
        channels: in the file: 1 gray, 2 gray and alpha, 3 colour or palette, 4 with alpha or CMYK.
        orientation: of EXIF, 1 (upright) to 8.
    """

    format: str
    width: int
    height: int
    channels: int
    orientation: int


def look(content: bytes, *, max_pixels: int = MAX_PIXELS) -> Header:
    """Return what the header of an image file tells; the file is whole.

    Raises:
        SourceImageError: the file is empty, no image, cut off, contradicts itself, or has more
            than `max_pixels` pixels.
    """
    name, facts = _format(content)
    width, height, channels, orientation = facts(content)
    if not width or not height:
        raise corrupt(f"its header gives a size of {width}×{height} pixels")
    if width * height > max_pixels:
        raise too_large(
            f"has {width:,}×{height:,} pixels; at most {max_pixels:,} pixels are decoded"
        )
    return Header(name, width, height, channels, orientation)


def _format(content: bytes) -> tuple[str, Callable[[bytes], tuple[int, int, int, int]]]:
    if content.startswith(_jpeg.MAGIC):
        return "jpeg", _jpeg.facts
    if content.startswith(_png.MAGIC):
        return "png", _png.facts
    if content.startswith(_gif.MAGICS):
        return "gif", _gif.facts
    if _webp.is_webp(content):
        return "webp", _webp.facts
    if _bmp.is_bmp(content):
        return "bmp", _bmp.facts
    raise _no_image(content)


def _no_image(content: bytes) -> SourceImageError:
    if not content:
        return SourceImageError(Reason.EMPTY, "is empty (0 bytes)")
    magics = (_jpeg.MAGIC, _png.MAGIC, *_gif.MAGICS)
    if len(content) >= 2 and any(magic.startswith(content) for magic in magics):
        return truncated(content, "its header is complete")
    return SourceImageError(Reason.NOT_AN_IMAGE, _found_instead(content))


def _found_instead(content: bytes) -> str:
    for at, magic, detail in _OTHERS:
        if content.startswith(magic, at):
            return detail
    if content[:64].lstrip().lower().startswith(_MARKUP):
        return "is a page of HTML or XML, as failed downloads leave it"
    return f"is no JPEG, PNG, GIF, BMP or WebP (it begins with {content[:8]!r})"
