"""What an image file says of itself, and whether it is whole, without decoding it."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from quickfit.data.entries import Reason, SourceImageError


def truncated_error(content: bytes, before: str) -> SourceImageError:
    """Return the error of a file that stops too early."""
    return SourceImageError(Reason.TRUNCATED, f"ends after {len(content):,} bytes, before {before}")


def corrupt_error(detail: str) -> SourceImageError:
    """Return the error of a file that contradicts its own format."""
    return SourceImageError(Reason.CORRUPT, detail)


def too_large_error(detail: str) -> SourceImageError:
    """Return the error of an image with more pixels than may be decoded."""
    return SourceImageError(Reason.TOO_LARGE, detail)


UPRIGHT = 1
# What begins the EXIF data of a JPEG; WebP files of some cameras carry it too.
EXIF_PREFIX = b"Exif\0\0"

_ORIENTATION_TAG = 0x0112
_EXIF_SHORT = 3
_EXIF_ENTRY_BYTES = 12


def exif_orientation(exif: bytes) -> int:
    """Return the orientation, 1 to 8, that EXIF data tells; upright where it tells nothing.

    EXIF data that makes no sense is passed over: every viewer shows such a photograph too.
    """
    tiff = exif.removeprefix(EXIF_PREFIX)
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4])
    if order is None or len(tiff) < 8:
        return UPRIGHT
    (start,) = struct.unpack_from(order + "I", tiff, 4)
    if start + 2 > len(tiff):
        return UPRIGHT
    (count,) = struct.unpack_from(order + "H", tiff, start)
    return _find_orientation(tiff[start + 2 : start + 2 + count * _EXIF_ENTRY_BYTES], order)


def _find_orientation(entries: bytes, order: str) -> int:
    entry = struct.Struct(order + "HHIH")
    for at in range(0, len(entries) - _EXIF_ENTRY_BYTES + 1, _EXIF_ENTRY_BYTES):
        tag, kind, count, value = entry.unpack_from(entries, at)
        if tag == _ORIENTATION_TAG:
            is_valid = kind == _EXIF_SHORT and count == 1 and 1 <= value <= 8
            return value if is_valid else UPRIGHT
    return UPRIGHT


BMP_MAGIC = b"BM"

_BMP_OLD_HEADER_BYTES = 12
_BMP_HEADER_BYTES = 40
_BMP_FILE_HEADER_BYTES = 14
# Compression: none, bit fields, bit fields with alpha.
_BMP_PLAIN = frozenset({0, 3, 6})
_BMP_RUN_LENGTH = frozenset({1, 2})
_BMP_DEPTHS = frozenset({1, 2, 4, 8, 16, 24, 32})


def is_bmp(content: bytes) -> bool:
    """Return whether the file begins as a BMP does: two letters alone would be many texts."""
    if not content.startswith(BMP_MAGIC):
        return False
    header_bytes = int.from_bytes(content[14:18], "little")
    return (
        header_bytes in (_BMP_OLD_HEADER_BYTES, 16, 64) or _BMP_HEADER_BYTES <= header_bytes <= 124
    )


def bmp_facts(content: bytes) -> tuple[int, int, int, int]:
    """Return width, height, channels and orientation; the file is whole."""
    header_bytes = int.from_bytes(content[14:18], "little")
    if len(content) < _BMP_FILE_HEADER_BYTES + min(header_bytes, _BMP_HEADER_BYTES):
        raise truncated_error(content, "its header is complete")
    width, height, depth, compression = _bmp_header(content, header_bytes)
    if depth not in _BMP_DEPTHS or width < 0:
        raise corrupt_error(f"its header gives a width of {width} and {depth} bits per pixel")
    # A negative height means that the first row is the top one.
    height = abs(height)
    _check_bmp_length(content, (width * depth + 31) // 32 * 4 * height, compression)
    return width, height, 4 if depth == 32 else 3, UPRIGHT


def _bmp_header(content: bytes, header_bytes: int) -> tuple[int, int, int, int]:
    if header_bytes == _BMP_OLD_HEADER_BYTES:
        width, height, _planes, depth = struct.unpack_from("<HHHH", content, 18)
        return width, height, depth, 0
    width, height, _planes, depth = struct.unpack_from("<iiHH", content, 18)
    if header_bytes < _BMP_HEADER_BYTES:
        return width, height, depth, 0
    return width, height, depth, int.from_bytes(content[30:34], "little")


def _check_bmp_length(content: bytes, pixel_bytes: int, compression: int) -> None:
    start = int.from_bytes(content[10:14], "little")
    if compression in _BMP_RUN_LENGTH:
        pixel_bytes = max(int.from_bytes(content[34:38], "little"), 2)
    elif compression not in _BMP_PLAIN:
        raise corrupt_error(f"its pixels are stored in a way BMP does not have ({compression})")
    if start + pixel_bytes > len(content):
        raise truncated_error(content, f"the {start + pixel_bytes:,} that its header needs")


GIF_MAGICS = (b"GIF87a", b"GIF89a")

_GIF_SCREEN_BYTES = 13
_GIF_MAX_SIDE = 0xFFFF
_GIF_FRAME_BYTES = 10
_GIF_HAS_TABLE = 0x80
_EXTENSION, _FRAME, _TRAILER = 0x21, 0x2C, 0x3B


def gif_facts(content: bytes) -> tuple[int, int, int, int]:
    """Return width, height, channels and orientation; the file is whole."""
    if len(content) < _GIF_SCREEN_BYTES:
        raise truncated_error(content, "its header is complete")
    width, height, flags = struct.unpack_from("<HHB", content, 6)
    first = _walk_gif(content, _GIF_SCREEN_BYTES + _gif_table_bytes(flags))
    if first < 0:
        raise corrupt_error("it has no picture")
    left, top, frame_width, frame_height = struct.unpack_from("<HHHH", content, first + 1)
    # A first frame that reaches over the edge makes the picture larger, as Pillow reads it.
    width, height = max(width, left + frame_width), max(height, top + frame_height)
    if max(width, height) > _GIF_MAX_SIDE:
        raise corrupt_error(
            f"its first frame reaches to {width:,}×{height:,} pixels, beyond any GIF"
        )
    return width, height, 3, UPRIGHT


def gif_with_screen(content: bytes, width: int, height: int) -> bytes:
    """Return the file with another size in its header.

    Pillow warns of a large picture where the first frame is what makes it large.
    """
    return content[:6] + struct.pack("<HH", width, height) + content[10:]


def _walk_gif(content: bytes, at: int) -> int:
    """Follow the blocks to the trailer; return where the first frame is, -1 without one."""
    first = -1
    try:
        while (block := content[at]) != _TRAILER:
            if block == _FRAME:
                first = at if first < 0 else first
                # The frame's table of colours, and the byte that gives the size of its codes.
                at += _GIF_FRAME_BYTES + _gif_table_bytes(content[at + 9]) + 1
            elif block == _EXTENSION:
                at += 2
            else:
                raise corrupt_error(f"the block at byte {at:,} is of a kind that GIF does not have")
            while size := content[at]:
                at += size + 1
            at += 1
    except IndexError:
        raise truncated_error(content, "its trailer") from None
    return first


def _gif_table_bytes(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & _GIF_HAS_TABLE else 0


JPEG_MAGIC = b"\xff\xd8\xff"

_JPEG_START_OF_SCAN = 0xDA
_JPEG_END_OF_IMAGE = 0xD9
_JPEG_APP1 = 0xE1
# Start of frame: all of C0 to CF but three that are tables.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# Markers without a length: TEM, restarts and a second start of image.
_JPEG_BARE = frozenset({0x01, 0xD8, *range(0xD0, 0xD8)})
# Ordinary files have about ten, a large depth map some hundred; a file of nothing but empty
# segments must not keep us busy for minutes.
_JPEG_MAX_SEGMENTS = 10_000
# A frame's header up to its number of components.
_JPEG_FRAME_BYTES = 6


class JpegSegment(NamedTuple):
    """A marker, and where its payload lies in the file."""

    marker: int
    start: int
    end: int


def jpeg_facts(content: bytes) -> tuple[int, int, int, int]:
    """Return width, height, channels and orientation; the file is whole."""
    width = height = channels = 0
    orientation = UPRIGHT
    end = 2
    for marker, start, end in jpeg_segments(content):
        if marker in _JPEG_FRAMES and not channels:
            if end - start < _JPEG_FRAME_BYTES:
                raise corrupt_error("its frame header is too short")
            height = int.from_bytes(content[start + 1 : start + 3], "big")
            width = int.from_bytes(content[start + 3 : start + 5], "big")
            channels = content[start + 5]
        elif marker == _JPEG_APP1 and content.startswith(EXIF_PREFIX, start):
            orientation = exif_orientation(content[start:end])
    if not channels:
        raise corrupt_error("its picture data begins without a frame header that gives its size")
    # Nothing in the picture's data reads FF D9, so one after it ends a picture that is whole.
    # Searched from the back: phones append data of their own, but seldom much.
    if content.rfind(b"\xff\xd9", end) < 0:
        raise truncated_error(content, "its end-of-image marker")
    return width, height, channels, orientation


def jpeg_segments(content: bytes) -> Iterator[JpegSegment]:
    """Yield the segments from the first to the start of the first scan, which is the last."""
    at = 2
    for _ in range(_JPEG_MAX_SEGMENTS):
        # Bytes that are no marker, and fill bytes, are skipped: decoders do the same.
        at = content.find(b"\xff", at)
        while at >= 0 and content[at + 1 : at + 2] == b"\xff":
            at += 1
        if at < 0 or at + 4 > len(content):
            raise truncated_error(content, "its picture data begins")
        marker = content[at + 1]
        if marker == _JPEG_END_OF_IMAGE:
            raise corrupt_error(
                f"its end-of-image marker comes at byte {at:,}, before any picture data"
            )
        if marker in _JPEG_BARE or marker == 0:
            at += 2
            continue
        end = at + 2 + int.from_bytes(content[at + 2 : at + 4], "big")
        if end > len(content):
            raise truncated_error(content, "its picture data begins")
        if end < at + 4:
            raise corrupt_error(f"the segment at byte {at:,} has an impossible length")
        yield JpegSegment(marker, at + 4, end)
        if marker == _JPEG_START_OF_SCAN:
            return
        at = end
    raise corrupt_error(f"it has more than {_JPEG_MAX_SEGMENTS:,} segments before its picture data")


def tidy_jpeg(content: bytes) -> bytes:
    """Return the file without EXIF data and without bytes between its segments.

    Pillow warns of odd EXIF data, and takes a file for broken that has such bytes.
    """
    pieces = [content[:2]]
    end = 2
    for marker, start, end in jpeg_segments(content):
        if marker != _JPEG_APP1:
            pieces.append(content[start - 4 : end])
    pieces.append(content[end:])
    return b"".join(pieces)


PNG_MAGIC = b"\x89PNG\r\n\x1a\n"

# Colour type → channels; a palette holds RGB.
_PNG_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}
_PNG_HEADER_BYTES = 13
# Length, kind and checksum.
_PNG_FRAME_BYTES = 12
# More than a file of a gigabyte has; one of empty chunks must not keep us busy for minutes.
_PNG_MAX_CHUNKS = 200_000
# The chunks that make the pixels.
_PNG_PIXEL_CHUNKS = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND"})


class PngChunk(NamedTuple):
    """A chunk's kind, and where its payload lies in the file."""

    kind: bytes
    start: int
    end: int


def png_facts(content: bytes) -> tuple[int, int, int, int]:
    """Return width, height, channels and orientation; the file is whole."""
    orientation = UPRIGHT
    has_data = False
    for kind, start, end in png_chunks(content):
        if kind == b"IDAT":
            has_data = True
        elif kind == b"eXIf":
            orientation = exif_orientation(content[start:end])
    if not has_data:
        raise corrupt_error("it has no picture data")
    width, height, _depth, colour = struct.unpack_from(">IIBB", content, 16)
    if colour not in _PNG_CHANNELS:
        raise corrupt_error(f"its header gives a colour type of {colour}, which PNG does not have")
    return width, height, _PNG_CHANNELS[colour], orientation


def png_chunks(content: bytes) -> Iterator[PngChunk]:
    """Yield the chunks from the first, which is the header, to the last, which ends the file."""
    at = len(PNG_MAGIC)
    size = len(content)
    for _ in range(_PNG_MAX_CHUNKS):
        if at + _PNG_FRAME_BYTES > size:
            raise truncated_error(content, "its end chunk")
        kind = content[at + 4 : at + 8]
        end = at + 8 + int.from_bytes(content[at : at + 4], "big")
        if at == len(PNG_MAGIC) and (kind != b"IHDR" or end - at - 8 != _PNG_HEADER_BYTES):
            raise corrupt_error("it does not begin with its header chunk")
        if end + 4 > size:
            raise truncated_error(content, "its end chunk")
        yield PngChunk(kind, at + 8, end)
        if kind == b"IEND":
            return
        at = end + 4
    raise corrupt_error(f"it has more than {_PNG_MAX_CHUNKS:,} chunks")


def png_pixels_only(content: bytes) -> bytes:
    """Return the file with nothing but the chunks that make its pixels, each one checked.

    Pillow does not compare the checksums of picture data, stops at a wrong one of a comment, and
    warns of odd animations.
    """
    pieces = [PNG_MAGIC]
    for kind, start, end in png_chunks(content):
        if kind not in _PNG_PIXEL_CHUNKS:
            continue
        found = zlib.crc32(memoryview(content)[start - 4 : end])
        if found != int.from_bytes(content[end : end + 4], "big"):
            raise corrupt_error(
                f"the checksum of its {kind.decode()} chunk at byte {start:,} is wrong"
            )
        pieces.append(content[start - 8 : end + 4])
    return b"".join(pieces)


_WEBP_HEADER_BYTES = 12
_WEBP_MAX_CHUNKS = 200_000
_WEBP_START_CODE = b"\x9d\x01\x2a"
_WEBP_LOSSLESS_MAGIC = 0x2F
_WEBP_ALPHA_FLAG = 0x10
_WEBP_BITS_14 = 0x3FFF
# Of a chunk's payload, what the size is read from.
_WEBP_NEEDED_BYTES = {b"VP8 ": 10, b"VP8L": 5, b"VP8X": 10}
_WEBP_PICTURES = frozenset({b"VP8 ", b"VP8L", b"ANMF"})


class WebpChunk(NamedTuple):
    """A chunk's kind, and where its payload lies in the file."""

    kind: bytes
    start: int
    end: int


def is_webp(content: bytes) -> bool:
    """Return whether the file begins as a WebP does."""
    return content.startswith(b"RIFF") and content[8:12] == b"WEBP"


def webp_facts(content: bytes) -> tuple[int, int, int, int]:
    """Return width, height, channels and orientation; the file is whole."""
    end = 8 + int.from_bytes(content[4:8], "little")
    if end > len(content):
        raise truncated_error(content, f"the {end:,} that its header gives")
    size: tuple[int, int, int] | None = None
    orientation = UPRIGHT
    has_picture = False
    for kind, start, stop in _webp_chunks(content, end):
        if size is None:
            size = _webp_size(content, WebpChunk(kind, start, stop))
        has_picture = has_picture or kind in _WEBP_PICTURES
        if kind == b"EXIF":
            orientation = exif_orientation(content[start:stop])
    if size is None or not has_picture:
        raise corrupt_error("it has no picture data")
    return *size, orientation


def _webp_chunks(content: bytes, end: int) -> Iterator[WebpChunk]:
    at = _WEBP_HEADER_BYTES
    for _ in range(_WEBP_MAX_CHUNKS):
        if at + 8 > end:
            return
        size = int.from_bytes(content[at + 4 : at + 8], "little")
        if at + 8 + size > end:
            raise corrupt_error(
                f"the chunk at byte {at:,} reaches beyond the end that its header gives"
            )
        yield WebpChunk(content[at : at + 4], at + 8, at + 8 + size)
        at += 8 + size + size % 2
    raise corrupt_error(f"it has more than {_WEBP_MAX_CHUNKS:,} chunks")


def _webp_size(content: bytes, chunk: WebpChunk) -> tuple[int, int, int]:
    kind, start, end = chunk
    if end - start < _WEBP_NEEDED_BYTES.get(kind, end):
        raise corrupt_error("it does not begin with the header of a picture")
    if kind == b"VP8X":
        width = 1 + int.from_bytes(content[start + 4 : start + 7], "little")
        height = 1 + int.from_bytes(content[start + 7 : start + 10], "little")
        return width, height, 4 if content[start] & _WEBP_ALPHA_FLAG else 3
    if kind == b"VP8L":
        bits = int.from_bytes(content[start + 1 : start + 5], "little")
        if content[start] != _WEBP_LOSSLESS_MAGIC:
            raise corrupt_error("its lossless picture does not begin as one")
        return (
            1 + (bits & _WEBP_BITS_14),
            1 + (bits >> 14 & _WEBP_BITS_14),
            4 if bits >> 28 & 1 else 3,
        )
    if content[start + 3 : start + 6] != _WEBP_START_CODE:
        raise corrupt_error("its lossy picture does not begin as one")
    width, height = struct.unpack_from("<HH", content, start + 6)
    return width & _WEBP_BITS_14, height & _WEBP_BITS_14, 3


_AVIF_BRANDS = (b"ftypavif", b"ftypavis")
# Both are there in every AVIF file: what describes the picture, and its data.
_AVIF_NEEDED = frozenset({b"meta", b"mdat"})
_BOX_HEADER = struct.Struct(">L4s")


def avif_facts(content: bytes) -> tuple[int, int, int, int]:
    """Return width, height, channels and orientation, as Pillow reads them; the file is whole."""
    from PIL import AvifImagePlugin

    if not AvifImagePlugin.SUPPORTED:
        raise SourceImageError(
            Reason.NOT_AN_IMAGE,
            "is an AVIF image, which this Pillow cannot read: pip install --upgrade pillow",
        )
    _check_avif_whole(content)
    try:
        image = AvifImagePlugin.AvifImageFile(io.BytesIO(content))
    except (SyntaxError, ValueError, OSError, RuntimeError) as error:
        raise corrupt_error(f"its header cannot be read: {error}") from None
    return *image.size, len(image.getbands()), exif_orientation(image.info.get("exif", b""))


def _check_avif_whole(content: bytes) -> None:
    missing = set(_AVIF_NEEDED)
    at = 0
    while missing and at + _BOX_HEADER.size <= len(content):
        size, kind = _BOX_HEADER.unpack_from(content, at)
        if size == 0:
            return  # it reaches to the end of the file
        if size == 1:
            size = int.from_bytes(content[at + 8 : at + 16], "big")
        if size < _BOX_HEADER.size:
            raise corrupt_error(f"the box at byte {at:,} says that it has {size} bytes")
        at += size
        missing.discard(kind)
    if missing or at > len(content):
        raise truncated_error(content, "its picture data are complete")


# Beyond it Pillow refuses a file as a decompression bomb: half a gigabyte of pixels.
MAX_PIXELS = 178_956_970

# What people find in image folders instead of images: how it begins, where, and what to say.
_OTHER_FORMATS = (
    (0, b"\0\0\0\0\0\0\0\0", "begins with zeros, as files do that were never written to the end"),
    (0, b"%PDF", "is a PDF document"),
    (0, b"II*\0", "is a TIFF image, which is not read here: convert it to PNG"),
    (0, b"MM\0*", "is a TIFF image, which is not read here: convert it to PNG"),
    (4, b"ftyphei", "is a HEIC photograph, which is not read here: convert it to JPEG"),
    (4, b"ftypmif1", "is a HEIC photograph, which is not read here: convert it to JPEG"),
    (4, b"ftyp", "is a video"),
    (0, b"PK\x03\x04", "is a zip archive"),
    (0, b"\x1f\x8b", "is gzip data"),
    (0, b"\0\0\1\0", "is an icon file, which is not read here: convert it to PNG"),
    (0, b"\0\x05\x16\x07", "is a file of macOS that goes with another one"),
    (0, b"version https://git-lfs", "is a pointer of Git LFS: fetch the file with `git lfs pull`"),
)
_MARKUP = (b"<!doctype", b"<html", b"<head", b"<?xml", b"<svg", b"<error")


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """What the header of an image file tells.

    Args:
        format: `jpeg`, `png`, `gif`, `bmp`, `webp` or `avif`.
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


def read_header(content: bytes, *, max_pixels: int = MAX_PIXELS) -> ImageHeader:
    """Return what the header of an image file tells; the file is whole.

    Raises:
        SourceImageError: the file is empty, no image, cut off, contradicts itself, or has more
            than `max_pixels` pixels.
    """
    name, facts = _find_format(content)
    width, height, channels, orientation = facts(content)
    if not width or not height:
        raise corrupt_error(f"its header gives a size of {width}×{height} pixels")
    if width * height > max_pixels:
        raise too_large_error(
            f"has {width:,}×{height:,} pixels; at most {max_pixels:,} pixels are decoded"
        )
    return ImageHeader(name, width, height, channels, orientation)


def _find_format(content: bytes) -> tuple[str, Callable[[bytes], tuple[int, int, int, int]]]:
    if content.startswith(JPEG_MAGIC):
        return "jpeg", jpeg_facts
    if content.startswith(PNG_MAGIC):
        return "png", png_facts
    if content.startswith(GIF_MAGICS):
        return "gif", gif_facts
    if is_webp(content):
        return "webp", webp_facts
    if is_bmp(content):
        return "bmp", bmp_facts
    if content.startswith(_AVIF_BRANDS, 4):
        return "avif", avif_facts
    raise _no_image_error(content)


def _no_image_error(content: bytes) -> SourceImageError:
    if not content:
        return SourceImageError(Reason.EMPTY, "is empty (0 bytes)")
    magics = (JPEG_MAGIC, PNG_MAGIC, *GIF_MAGICS)
    if len(content) >= 2 and any(magic.startswith(content) for magic in magics):
        return truncated_error(content, "its header is complete")
    return SourceImageError(Reason.NOT_AN_IMAGE, _describe_content(content))


def _describe_content(content: bytes) -> str:
    for at, magic, detail in _OTHER_FORMATS:
        if content.startswith(magic, at):
            return detail
    if content[:64].lstrip().lower().startswith(_MARKUP):
        return "is a page of HTML or XML, as failed downloads leave it"
    return f"is no JPEG, PNG, GIF, BMP, WebP or AVIF (it begins with {content[:8]!r})"
