"""Files of every kind come out of the graph as `pixels.decode` has them."""

import functools
import io

import numpy as np
import pytest

from quickfit.data import pixels
from quickfit.data.imaging.decoding import decode

from cameras import exif_data
from photos import jpeg, photo

pytestmark = pytest.mark.loads_tf


def saved(image, kind, **options):
    content = io.BytesIO()
    image.save(content, kind, **options)
    return content.getvalue()


def picture(mode="RGB", seed=3):
    from PIL import Image

    return Image.fromarray(photo(45, 70, seed=seed)).convert(mode)


@functools.cache
def _graph(at_least):
    import tensorflow as tf

    return tf.function(lambda content: decode(content, at_least), autograph=False)


def decoded(tf, content, at_least=None):
    """Return the image as the graph of a pipeline decodes it."""
    return _graph(at_least)(tf.constant(content)).numpy()


def large_difference(tf, content):
    """Return the share of values that are more than 3 levels from those of `pixels`."""
    ours = decoded(tf, content).astype(int)
    theirs = pixels.decode(content).astype(int)
    assert ours.shape == theirs.shape
    return float((abs(ours - theirs) > 3).mean())


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lambda: jpeg(photo(45, 70)), id="JPEG"),
        pytest.param(lambda: jpeg(photo(45, 70), progressive=True), id="progressive JPEG"),
        pytest.param(lambda: saved(picture("L"), "JPEG"), id="gray JPEG"),
        pytest.param(lambda: saved(picture("CMYK"), "JPEG"), id="CMYK JPEG"),
        pytest.param(lambda: saved(picture(), "PNG"), id="PNG"),
        pytest.param(lambda: saved(picture("RGBA"), "PNG"), id="PNG with alpha"),
        pytest.param(lambda: saved(picture("LA"), "PNG"), id="gray PNG with alpha"),
        pytest.param(lambda: saved(picture("P"), "PNG"), id="PNG with a palette"),
        pytest.param(lambda: saved(picture("P"), "PNG", transparency=3), id="see-through palette"),
        pytest.param(lambda: saved(picture("1"), "PNG"), id="PNG of one bit"),
        pytest.param(lambda: saved(picture("I;16"), "PNG"), id="PNG of 16 bits"),
        pytest.param(lambda: saved(picture(), "GIF"), id="GIF"),
        pytest.param(lambda: saved(picture(), "BMP"), id="BMP"),
        pytest.param(lambda: saved(picture("P"), "BMP"), id="BMP with a palette"),
        pytest.param(lambda: saved(picture(), "WEBP"), id="WebP"),
        pytest.param(lambda: saved(picture("RGBA"), "WEBP", lossless=True), id="WebP with alpha"),
        pytest.param(
            lambda: saved(picture(), "GIF", save_all=True, append_images=[picture(seed=5)]),
            id="the first frame of an animation",
        ),
    ],
)
def test_a_file_is_decoded_as_pixels_does(tf, content):
    # The fast transform of JPEG is off by a level or two.
    assert large_difference(tf, content()) < 0.01


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_is_turned_the_right_way_up(tf, orientation):
    content = jpeg(photo(45, 70), exif=exif_data(orientation))

    assert large_difference(tf, content) < 0.01


def test_a_png_is_turned_the_right_way_up(tf):
    content = saved(picture(), "PNG", exif=exif_data(8))

    assert large_difference(tf, content) == 0


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_the_end_of_the_name_does_not_matter(tf, kind):
    assert decoded(tf, saved(picture(), kind), (10, 10)).shape == (45, 70, 3)


@pytest.mark.parametrize(
    ("stored", "at_least", "expected"),
    [
        pytest.param((64, 96), (64, 96), (64, 96), id="nothing to spare"),
        pytest.param((64, 96), (33, 40), (64, 96), id="half would be too little"),
        pytest.param((64, 96), (32, 48), (32, 48), id="half"),
        pytest.param((64, 96), (8, 8), (8, 12), id="an eighth is the most"),
        pytest.param((64, 96), (8, 40), (32, 48), id="the width decides"),
    ],
)
def test_a_jpeg_is_shrunk_as_far_as_enough_is_left(tf, stored, at_least, expected):
    assert decoded(tf, jpeg(photo(*stored)), at_least).shape == (*expected, 3)


def test_a_jpeg_that_lies_on_its_side_is_measured_upright(tf):
    content = jpeg(photo(64, 96), exif=exif_data(6))

    assert decoded(tf, content, (48, 32)).shape == (48, 32, 3)
    assert decoded(tf, content, (32, 48)).shape == (96, 64, 3)


def test_a_png_is_decoded_bit_by_bit(tf):
    content = saved(picture(), "PNG")

    assert np.array_equal(decoded(tf, content), np.asarray(picture()))
