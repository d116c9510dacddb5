"""Decodes image files inside the pipeline's graph: JPEG and PNG natively, the rest by `pixels`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from quickfit.data import pixels
from quickfit.data.entries import SourceImageError
from quickfit.data.imaging._graph import Tensor, in_python
from quickfit.data.imaging.orientation import RATIOS, may_be_turned, shrunk_upright

_JPEG_START = b"\xff\xd8"
_PNG_START = b"\x89PNG"
# Writers put the EXIF data of a PNG before its pixels.
_PNG_LOOK_BYTES = 1024
_CMYK_CHANNELS = 4

# What a file becomes that Python cannot decode; no resize accepts it. An exception would do the
# same, and TensorFlow would print its traceback for every file that is to be skipped.
NO_IMAGE: NDArray[np.uint8] = np.empty((0, 0, 3), np.uint8)


def decode(content: Tensor, at_least: tuple[int, int] | None) -> Tensor:
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
        lambda: _jpeg(content, at_least),
        lambda: _other(content, at_least),
    )
    image.set_shape((None, None, 3))
    return image


def _other(content: Tensor, at_least: tuple[int, int] | None) -> Tensor:
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
        lambda: in_python(_python_decoder(at_least), [content], tf.uint8, (None, None, 3)),
    )


def _jpeg(content: Tensor, at_least: tuple[int, int] | None) -> Tensor:
    """Return the image of a JPEG as it is stored."""
    import tensorflow as tf

    shape = tf.io.extract_jpeg_shape(content)
    ways: list[Callable[[], Tensor]] = [
        lambda ratio=ratio: _shrunk(content, ratio)  # type: ignore[misc]
        for ratio in (RATIOS if at_least else RATIOS[:1])
    ]
    # Pillow's colours for the four inks: TensorFlow's are others. What is too large ends there.
    ways.append(lambda: in_python(_python_decoder(None), [content], tf.uint8, (None, None, 3)))
    way = _ratio_index(shape[:2], at_least) if at_least else tf.constant(0)
    is_odd = (shape[2] == _CMYK_CHANNELS) | (shape[0] > pixels.MAX_PIXELS // shape[1])
    return tf.switch_case(tf.where(is_odd, len(ways) - 1, way), ways)


def _shrunk(content: Tensor, ratio: int) -> Tensor:
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
            header = pixels.look(content)
            if at_least and header.format == "jpeg" and header.channels != _CMYK_CHANNELS:
                return shrunk_upright(content, header, at_least)
            return pixels.decode(content, header=header)
        except SourceImageError:
            return NO_IMAGE

    return decoded
