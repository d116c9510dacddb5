"""Decodes image files to RGB pixels, the right way up, and encodes JPEG."""

from __future__ import annotations

import io
import struct
import zlib
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.pixels import headers
from quickfit.data.pixels.headers import ImageHeader, corrupt_error, read_header, too_large_error

Pixels = NDArray[np.uint8]

# What simplejpeg refuses and Pillow reads: kinds of JPEG it does not ask libjpeg for, and warnings
# of libjpeg about something that leaves the pixels right.
_LEFT_TO_PILLOW = (
    *("subsampling", "nsupported", "not supported", "colorspace", "omitted"),
    *("extraneous bytes", "JFIF revision", "Invalid SOS parameters", "Adobe color"),
)
# Pillow's class for a format. Opened by name and not by `Image.open`, which also tries other
# formats and warns of large images; `look` has decided both.
_PLUGINS = {
    "jpeg": ("PIL.JpegImagePlugin", "JpegImageFile"),
    "png": ("PIL.PngImagePlugin", "PngImageFile"),
    "gif": ("PIL.GifImagePlugin", "GifImageFile"),
    "bmp": ("PIL.BmpImagePlugin", "BmpImageFile"),
    "webp": ("PIL.WebPImagePlugin", "WebPImageFile"),
    "avif": ("PIL.AvifImagePlugin", "AvifImageFile"),
}
# What Pillow's readers may raise on a broken file.
_PILLOW_ERRORS = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    ArithmeticError,
    AttributeError,
    RuntimeError,
    struct.error,
    zlib.error,
)
# What libjpeg-turbo writes at most, in each direction.
_MAX_JPEG_SIDE = 65_500


def decode(content: bytes, *, header: ImageHeader | None = None) -> Pixels:
    """Return the image of a file as RGB, `[height, width, 3]`, turned the right way up.

    Gray and palettes are widened, alpha is dropped, CMYK converted as Pillow does, 16 bits keep
    the upper 8; of an animation it is the first frame.

    Args:
        content: the file.
        header: what `look` returned for it; without it, `look` is called.

    Raises:
        SourceImageError: the file is no image or not whole, or its pixels cannot be decoded.
    """
    header = header or read_header(content)
    pixels = _jpeg_pixels(content, header) if header.format == "jpeg" else None
    if pixels is None:
        pixels = _pillow_pixels(content, header)
    return upright(pixels, header.orientation)


def upright(pixels: Pixels, orientation: int) -> Pixels:
    """Return the image as it was seen; EXIF numbers the eight ways to hold a camera."""
    if orientation >= 5:
        pixels = pixels.swapaxes(0, 1)
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    return np.ascontiguousarray(pixels)


def _jpeg_pixels(content: bytes, header: ImageHeader) -> Pixels | None:
    """Return the pixels as libjpeg-turbo decodes them; None for what only Pillow can read."""
    import simplejpeg

    colours = "CMYK" if header.channels == 4 else "RGB"
    try:
        pixels: Pixels = simplejpeg.decode_jpeg(content, colorspace=colours)
    except ValueError as error:
        if any(words in str(error) for words in _LEFT_TO_PILLOW):
            return None
        raise _decoding_error(error) from None
    return _from_cmyk(pixels) if colours == "CMYK" else pixels


def _decoding_error(error: Exception) -> SourceImageError:
    message = " ".join(str(error).split()) or type(error).__name__
    is_short = "Premature end of JPEG file" in message or "truncated" in message
    reason = Reason.TRUNCATED if is_short else Reason.CORRUPT
    return SourceImageError(reason, f"cannot be decoded: {message}")


def _from_cmyk(ink: Pixels) -> Pixels:
    """Return RGB as Pillow does; files hold the ink inverted, as Adobe's programs write it."""
    wide = ink.astype(np.uint16)
    black = wide[..., 3:]
    product = (255 - wide[..., :3]) * black + 128
    return (black - ((product >> 8) + product >> 8)).astype(np.uint8)


def _pillow_pixels(content: bytes, header: ImageHeader) -> Pixels:
    try:
        return _as_rgb(_open_in_pillow(_bytes_for_pillow(content, header), header.format))
    except _PILLOW_ERRORS as error:
        raise _decoding_error(error) from None


def _bytes_for_pillow(content: bytes, header: ImageHeader) -> bytes:
    if header.format == "png":
        return headers.png_pixels_only(content)
    if header.format == "gif":
        return headers.gif_with_screen(content, header.width, header.height)
    return headers.tidy_jpeg(content) if header.format == "jpeg" else content


def _open_in_pillow(content: bytes, format_name: str) -> Any:  # PIL.Image.Image, which has no types
    module, plugin = _PLUGINS[format_name]
    image = getattr(import_module(module), plugin)(io.BytesIO(content))
    image.load()
    return image


def _as_rgb(image: Any) -> Pixels:  # PIL.Image.Image, which has no types
    if image.mode.startswith("I"):
        # 16 bits of gray. Colour of 16 bits loses its lower half in Pillow already.
        gray = (np.asarray(image).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8)
        return np.repeat(gray[..., np.newaxis], 3, axis=2)
    # With it, Pillow warns that one colour cannot stand for a palette's transparency.
    image.info.pop("transparency", None)
    pixels = np.array(image.convert("RGB"))
    if pixels.ndim != 3 or pixels.shape[2] != 3:
        raise corrupt_error(f"its pixels of mode {image.mode} are no colours")
    return pixels


def encode_jpeg(image: NDArray[np.uint8], *, quality: int) -> bytes:
    """Return an RGB image as a JPEG file with half the colour resolution (4:2:0).

    Raises:
        SourceImageError: a side is longer than a JPEG can be.
    """
    import simplejpeg

    height, width = image.shape[:2]
    if max(height, width) > _MAX_JPEG_SIDE:
        raise too_large_error(
            f"has {width:,}×{height:,} pixels; a JPEG has {_MAX_JPEG_SIDE:,} at most on a side"
        )
    encoded: bytes = simplejpeg.encode_jpeg(
        np.ascontiguousarray(image), quality=quality, colorspace="RGB", colorsubsampling="420"
    )
    return encoded
