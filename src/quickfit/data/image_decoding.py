"""Decodes and resizes image files: in the graph of a pipeline, or whole batches in native code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from quickfit.data import pixels
from quickfit.data.entries import Entry, Source, SourceImageError
from quickfit.data.graph import Tensor, tensor_from_python
from quickfit.data.options import Resize
from quickfit.data.pixels import upright

if TYPE_CHECKING:
    from quickfit.data.options import PipelineOptions

# EXIF data is the first thing in a JPEG, or follows the 20 bytes of JFIF. Only a colour profile
# is known to come before it at times, and that names itself in the same place.
_EXIF_LOOK_BYTES = 256
_MAY_TELL = r"\C*(?:Exif\x00\x00|ICC_PROFILE)\C*"

# From this number on, height and width change places.
_FIRST_ON_ITS_SIDE = 5

# How far libjpeg can shrink while it decodes, at no cost in quality that a plain resize keeps.
RATIOS = (1, 2, 4, 8)
_JPEG_START = b"\xff\xd8"
_PNG_START = b"\x89PNG"
# Writers put the EXIF data of a PNG before its pixels.
_PNG_LOOK_BYTES = 1024
_CMYK_CHANNELS = 4
# What a file becomes that Python cannot decode; no resize accepts it. An exception would do the
# same, and TensorFlow would print its traceback for every file that is to be skipped.
NO_IMAGE: NDArray[np.uint8] = np.empty((0, 0, 3), np.uint8)
# Antialiasing averages over what it shrinks: from twice the size on, it hides what the decoder
# left out.
_ANTIALIAS_MARGIN = 2


def may_be_turned(content: Tensor) -> Tensor:
    """Return whether a JPEG file may tell its orientation: a look at its start, 2 µs."""
    import tensorflow as tf

    start = tf.strings.substr(content, 0, _EXIF_LOOK_BYTES)
    return tf.strings.regex_full_match(start, _MAY_TELL)


def decode_shrunk_jpeg(
    content: bytes, header: pixels.ImageHeader, at_least: tuple[int, int]
) -> NDArray[np.uint8]:
    """Return the image of a JPEG file, turned, and shrunk as far as `at_least` allows.

    In Python: files with EXIF data come from cameras, and the call is nothing beside decoding
    them, which does not hold the GIL.

    Raises:
        SourceImageError: it cannot be decoded.
    """
    import simplejpeg

    needed = at_least[::-1] if header.orientation >= _FIRST_ON_ITS_SIDE else at_least
    sides = [(-(-header.height // ratio), -(-header.width // ratio)) for ratio in reversed(RATIOS)]
    height, width = next(
        (pair for pair in sides if pair[0] >= needed[0] and pair[1] >= needed[1]), sides[-1]
    )
    try:
        # Strict: otherwise the rows behind a fault are whatever was in memory there.
        stored = simplejpeg.decode_jpeg(content, fastdct=True, min_height=height, min_width=width)
    except ValueError:
        # Broken, or one of the kinds that only Pillow reads.
        return pixels.decode(content, header=header)
    return upright(stored, header.orientation)


def decode_in_graph(content: Tensor, at_least: tuple[int, int] | None) -> Tensor:
    """Return the image of a file: uint8 `[height, width, 3]`, the right way up.

    Args:
        content: the file.
        at_least: height and width that must be left; a JPEG is shrunk while it is decoded as far
            as this allows. None decodes every pixel.
    """
    import tensorflow as tf

    is_jpeg = tf.equal(tf.strings.substr(content, 0, 2), _JPEG_START)
    image = tf.cond(
        is_jpeg & ~may_be_turned(content),
        lambda: _decode_jpeg(content, at_least),
        lambda: _decode_other(content, at_least),
    )
    image.set_shape((None, None, 3))
    return image


def _decode_other(content: Tensor, at_least: tuple[int, int] | None) -> Tensor:
    """Return the image of a JPEG that may have to be turned, or of another kind of file.

    The operations of this branch cost 0.4 µs each with every file that does not need them, and
    a few milliseconds at the start of every epoch: so there are few.
    """
    import tensorflow as tf

    start = tf.strings.substr(content, 0, _PNG_LOOK_BYTES)
    is_png = tf.equal(tf.strings.substr(start, 0, 4), _PNG_START)
    return tf.cond(
        is_png & ~tf.strings.regex_full_match(start, r"\C*eXIf\C*"),
        lambda: tf.io.decode_png(content, channels=3),
        lambda: tensor_from_python(_python_decoder(at_least), [content], tf.uint8, (None, None, 3)),
    )


def _decode_jpeg(content: Tensor, at_least: tuple[int, int] | None) -> Tensor:
    """Return the image of a JPEG as it is stored."""
    import tensorflow as tf

    shape = tf.io.extract_jpeg_shape(content)
    ways: list[Callable[[], Tensor]] = [
        lambda ratio=ratio: _decode_jpeg_at_ratio(content, ratio)  # type: ignore[misc]
        for ratio in (RATIOS if at_least else RATIOS[:1])
    ]
    # Pillow's colours for the four inks: TensorFlow's are others. What is too large ends there.
    ways.append(
        lambda: tensor_from_python(_python_decoder(None), [content], tf.uint8, (None, None, 3))
    )
    way = _ratio_index(shape[:2], at_least) if at_least else tf.constant(0)
    is_odd = (shape[2] == _CMYK_CHANNELS) | (shape[0] > pixels.MAX_PIXELS // shape[1])
    return tf.switch_case(tf.where(is_odd, len(ways) - 1, way), ways)


def _decode_jpeg_at_ratio(content: Tensor, ratio: int) -> Tensor:
    import tensorflow as tf

    return tf.io.decode_jpeg(content, channels=3, ratio=ratio, dct_method="INTEGER_FAST")


def _ratio_index(stored: Tensor, at_least: tuple[int, int]) -> Tensor:
    """Return which of the ratios is the largest that leaves enough in both directions."""
    import tensorflow as tf

    ratios = tf.constant(RATIOS[1:])[:, tf.newaxis]
    is_enough = tf.reduce_all((stored + ratios - 1) // ratios >= at_least, axis=1)
    return tf.reduce_sum(tf.cast(is_enough, tf.int32))


def _python_decoder(
    at_least: tuple[int, int] | None,
) -> Callable[[bytes], NDArray[np.uint8]]:
    """Return the function that decodes what the graph does not, without the GIL where it counts."""

    def decoded(content: bytes) -> NDArray[np.uint8]:
        try:
            header = pixels.read_header(content)
            if at_least and header.format == "jpeg" and header.channels != _CMYK_CHANNELS:
                return decode_shrunk_jpeg(content, header, at_least)
            return pixels.decode(content, header=header)
        except SourceImageError:
            return NO_IMAGE

    return decoded


def is_native(options: PipelineOptions) -> bool:
    """Tell whether batches can be made this way.

    Images that are left out are counted one by one, which the graph does; and without the
    compiled kernel TensorFlow is faster.
    """
    return options.resize == "bilinear" and options.on_bad == "error" and pixels.is_compiled()


def native_batch_loader(
    source: Source, entries: Sequence[Entry], size: tuple[int, int]
) -> Callable[[NDArray[np.int64]], NDArray[np.uint8]]:
    """Return the function from the indices of images to a batch of them.

    A bad image raises `SourceImageError`; the batch is then missing, and the image is looked for.
    """

    def load(indices: NDArray[np.int64]) -> NDArray[np.uint8]:
        batch = pixels.empty_batch(len(indices), (*size, 3))
        for index, out in zip(indices.tolist(), batch, strict=True):
            image = decode_shrunk(source.read(entries[index]), size)
            pixels.resize_into(image, out, filter="plain")
        return batch

    return load


def decode_shrunk(content: bytes, at_least: tuple[int, int]) -> NDArray[np.uint8]:
    """Return the image of a file, upright; a JPEG shrunk as far as `at_least` allows.

    Raises:
        SourceImageError: it cannot be decoded.
    """
    header = pixels.read_header(content)
    if header.format == "jpeg" and header.channels != _CMYK_CHANNELS:
        return decode_shrunk_jpeg(content, header, at_least)
    return pixels.decode(content, header=header)


def image_loader(resize: Resize, height: int, width: int) -> Callable[[Tensor], Tensor]:
    """Return the function that makes a uint8 image of this size from the content of a file."""
    ways: dict[Resize, Callable[..., Tensor]] = {
        "bilinear": _load_bilinear,
        "antialias": _load_antialias,
        "crop": _load_crop,
        "pil": _load_pil,
    }
    return functools.partial(ways[resize], height=height, width=width)


def _load_bilinear(content: Tensor, height: int, width: int) -> Tensor:
    """Return the image as batches made natively have it, to the bit."""
    import tensorflow as tf

    if not pixels.is_compiled():
        return _resize_plain(decode_in_graph(content, (height, width)), height, width)

    def loaded(file: bytes) -> NDArray[np.uint8]:
        try:
            return pixels.resize(
                decode_shrunk(file, (height, width)), height, width, filter="plain"
            )
        except SourceImageError:
            return NO_IMAGE

    result = tensor_from_python(loaded, [content], tf.uint8, (None, None, 3))
    return tf.ensure_shape(result, (height, width, 3))


def _load_crop(content: Tensor, height: int, width: int) -> Tensor:
    """Return the largest part in the middle that has the shape asked for, resized."""
    import tensorflow as tf

    image = decode_in_graph(content, (height, width))
    stored = tf.cast(tf.shape(image)[:2], tf.float32)
    shrink = tf.reduce_min(stored / (height, width))
    box = tf.maximum(tf.cast(tf.round((height, width) * shrink), tf.int32), 1)
    top, left = tf.unstack((tf.shape(image)[:2] - box) // 2)
    return _resize_plain(image[top : top + box[0], left : left + box[1]], height, width)


def _resize_plain(image: Tensor, height: int, width: int) -> Tensor:
    import tensorflow as tf

    # What `tf.image.resize` calls, without the dozen operations around it.
    resized = tf.raw_ops.ResizeBilinear(
        images=image[tf.newaxis], size=(height, width), half_pixel_centers=True
    )
    # The cheapest way to round: `tf.cast` cuts off, and an addition before it is a pass more.
    rounded = tf.raw_ops.QuantizeV2(
        input=resized, min_range=0.0, max_range=255.0, T=tf.quint8, mode="MIN_COMBINED"
    ).output
    return tf.reshape(tf.bitcast(rounded, tf.uint8), (height, width, 3))


def _load_antialias(content: Tensor, height: int, width: int) -> Tensor:
    import tensorflow as tf

    def resized(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return pixels.resize(image, height, width) if image.size else NO_IMAGE

    image = decode_in_graph(content, (height * _ANTIALIAS_MARGIN, width * _ANTIALIAS_MARGIN))
    result = tensor_from_python(resized, [image], tf.uint8, (None, None, 3))
    return tf.ensure_shape(result, (height, width, 3))


def _load_pil(content: Tensor, height: int, width: int) -> Tensor:
    import tensorflow as tf

    def loaded(file: bytes) -> NDArray[np.uint8]:
        try:
            return pixels.resize(pixels.decode(file), height, width, filter="bicubic")
        except SourceImageError:
            return NO_IMAGE

    result = tensor_from_python(loaded, [content], tf.uint8, (None, None, 3))
    return tf.ensure_shape(result, (height, width, 3))
