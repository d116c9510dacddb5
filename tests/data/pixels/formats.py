"""One image file of every kind that people have, made by Pillow from a photograph."""

import functools
import io
import struct
import zlib

import numpy as np

from photos import photo


def saved(image, format_name, **options):
    """Return a Pillow image as a file."""
    content = io.BytesIO()
    image.save(content, format_name, **options)
    return content.getvalue()


def _sixteen_bits(image):
    from PIL import Image

    return Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)


@functools.cache
def files(height=45, width=70):
    """Return a file of each kind by its name, which begins with its format."""
    from PIL import Image

    rgb = Image.fromarray(photo(height, width))
    rgba = rgb.copy()
    rgba.putalpha(rgb.convert("L"))
    two = {"save_all": True, "append_images": [rgb.transpose(Image.Transpose.ROTATE_180)]}
    palette = rgb.quantize(64)
    return {
        "jpeg": saved(rgb, "JPEG"),
        "jpeg gray": saved(rgb.convert("L"), "JPEG"),
        "jpeg cmyk": saved(rgb.convert("CMYK"), "JPEG"),
        "jpeg rgb": saved(rgb, "JPEG", keep_rgb=True),
        "jpeg progressive": saved(rgb, "JPEG", progressive=True),
        "jpeg restarts": saved(rgb, "JPEG", restart_marker_rows=1),
        "jpeg 4:4:4": saved(rgb, "JPEG", subsampling=0),
        "jpeg 4:2:2": saved(rgb, "JPEG", subsampling=1),
        "jpeg multi-picture": saved(rgb, "MPO", **two),
        "png": saved(rgb, "PNG"),
        "png gray": saved(rgb.convert("L"), "PNG"),
        "png gray alpha": saved(rgba.convert("LA"), "PNG"),
        "png alpha": saved(rgba, "PNG"),
        "png palette": saved(palette, "PNG"),
        "png palette alpha": saved(palette, "PNG", transparency=bytes(range(64))),
        "png 1 bit": saved(rgb.convert("1"), "PNG"),
        "png 16 bits": saved(_sixteen_bits(rgb), "PNG"),
        "png animated": saved(rgb, "PNG", **two),
        "gif": saved(rgb, "GIF"),
        "gif transparent": saved(palette, "GIF", transparency=3),
        "gif animated": saved(rgb, "GIF", **two),
        "bmp": saved(rgb, "BMP"),
        "bmp gray": saved(rgb.convert("L"), "BMP"),
        "bmp 1 bit": saved(rgb.convert("1"), "BMP"),
        "bmp alpha": saved(rgba, "BMP"),
        "webp": saved(rgb, "WEBP"),
        "webp lossless": saved(rgb, "WEBP", lossless=True),
        "webp alpha": saved(rgba, "WEBP"),
        "webp lossless alpha": saved(rgba, "WEBP", lossless=True),
        "webp animated": saved(rgb, "WEBP", **two),
        "avif": saved(rgb, "AVIF"),
        "avif alpha": saved(rgba, "AVIF"),
    }


def as_pillow_reads(content):
    """Return the pixels of a file that Pillow can read, as RGB."""
    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        image.load()
        image.info.pop("transparency", None)
        return np.asarray(image.convert("RGB"))


def png_chunk(kind, payload):
    """Return a PNG chunk with its length and checksum."""
    body = kind + payload
    return struct.pack(">I", len(payload)) + body + struct.pack(">I", zlib.crc32(body))


def exif_saying(orientation, order="<"):
    """Return EXIF data that tells nothing but the orientation."""
    mark = b"II*\0" if order == "<" else b"MM\0*"
    entries = struct.pack(order + "HHIHH", 0x0112, 3, 1, orientation, 0)
    return b"Exif\0\0" + mark + struct.pack(order + "IH", 8, 1) + entries + bytes(4)
