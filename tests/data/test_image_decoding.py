"""Photographs are turned the right way up, whatever way the camera was held."""

import functools
import io

import numpy as np
import pytest

from quickfit.data import pixels
from quickfit.data.entries import SourceImageError
from quickfit.data.image_decoding import (
    decode_in_graph,
    decode_shrunk_jpeg,
    image_loader,
    may_be_turned,
)
from quickfit.data.options import RESIZES

from cameras import exif_data
from hostile import bomb_jpeg, truncated_jpeg
from photos import jpeg, photo

PROFILE = b"\xff\xe2" + (3000).to_bytes(2, "big") + b"ICC_PROFILE\0\1\1" + bytes(2984)


def upright_image(content, at_least):
    return decode_shrunk_jpeg(content, pixels.read_header(content), at_least)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_all_eight_ways_are_known(orientation, order):
    content = jpeg(photo(45, 70), exif=exif_data(orientation, order))

    image, expected = upright_image(content, (45, 45)), pixels.decode(content)

    assert image.shape == expected.shape
    # The fast transform of JPEG is off by a level or two.
    assert (abs(image.astype(int) - expected) > 3).mean() < 0.01


@pytest.mark.parametrize(
    ("at_least", "expected"),
    [((48, 32), (48, 32)), ((32, 48), (96, 64)), ((200, 200), (96, 64)), ((5, 5), (12, 8))],
)
def test_what_lies_on_its_side_is_measured_upright(at_least, expected):
    content = jpeg(photo(64, 96), exif=exif_data(6))

    assert upright_image(content, at_least).shape == (*expected, 3)


def test_a_file_that_cannot_be_decoded_is_an_error():
    content = jpeg(photo(45, 70), exif=exif_data(6))
    header = pixels.read_header(content)

    with pytest.raises(SourceImageError):
        decode_shrunk_jpeg(content[:300], header, (10, 10))


@pytest.mark.parametrize("damage", [b"\xff\xc0\0\x11", b"\xff\xd8\0\0", b"\xff" * 40])
def test_damage_inside_of_a_picture_is_an_error_and_not_a_picture(damage):
    content = jpeg(photo(45, 70))
    middle = len(content) * 2 // 3
    broken = content[:middle] + damage + content[middle + len(damage) :]

    with pytest.raises(SourceImageError, match="cannot be decoded"):
        upright_image(broken, (45, 70))


@pytest.mark.loads_tf
def test_only_what_may_be_turned_is_looked_at_further(tf):
    plain, told = jpeg(photo(45, 70)), jpeg(photo(45, 70), exif=exif_data(6))

    assert not may_be_turned(tf.constant(plain))
    assert may_be_turned(tf.constant(told))
    # A colour profile may come before the EXIF data.
    assert may_be_turned(tf.constant(told[:20] + PROFILE + told[20:]))


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

    return tf.function(lambda content: decode_in_graph(content, at_least), autograph=False)


def decoded(tf, content, at_least=None):
    """Return the image as the graph of a pipeline decodes it."""
    return _graph(at_least)(tf.constant(content)).numpy()


def large_difference(tf, content):
    """Return the share of values that are more than 3 levels from those of `pixels`."""
    ours = decoded(tf, content).astype(int)
    theirs = pixels.decode(content).astype(int)
    assert ours.shape == theirs.shape
    return float((abs(ours - theirs) > 3).mean())


@pytest.mark.loads_tf
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
        pytest.param(lambda: saved(picture(), "AVIF"), id="AVIF"),
        pytest.param(
            lambda: saved(picture(), "GIF", save_all=True, append_images=[picture(seed=5)]),
            id="the first frame of an animation",
        ),
    ],
)
def test_a_file_is_decoded_as_pixels_does(tf, content):
    # The fast transform of JPEG is off by a level or two.
    assert large_difference(tf, content()) < 0.01


@pytest.mark.loads_tf
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_is_turned_the_right_way_up(tf, orientation):
    content = jpeg(photo(45, 70), exif=exif_data(orientation))

    assert large_difference(tf, content) < 0.01


@pytest.mark.loads_tf
def test_a_png_is_turned_the_right_way_up(tf):
    content = saved(picture(), "PNG", exif=exif_data(8))

    assert large_difference(tf, content) == 0


@pytest.mark.loads_tf
@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_the_end_of_the_name_does_not_matter(tf, kind):
    assert decoded(tf, saved(picture(), kind), (10, 10)).shape == (45, 70, 3)


@pytest.mark.loads_tf
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


@pytest.mark.loads_tf
def test_a_jpeg_that_lies_on_its_side_is_measured_upright(tf):
    content = jpeg(photo(64, 96), exif=exif_data(6))

    assert decoded(tf, content, (48, 32)).shape == (48, 32, 3)
    assert decoded(tf, content, (32, 48)).shape == (96, 64, 3)


@pytest.mark.loads_tf
def test_a_png_is_decoded_bit_by_bit(tf):
    content = saved(picture(), "PNG")

    assert np.array_equal(decoded(tf, content), np.asarray(picture()))


def png(array):
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(array).save(content, "PNG")
    return content.getvalue()


@functools.cache
def _resize_graph(resize, height, width):
    import tensorflow as tf

    return tf.function(image_loader(resize, height, width), autograph=False)


def loaded(tf, resize, content, height, width):
    return _resize_graph(resize, height, width)(tf.constant(content)).numpy()


@pytest.mark.loads_tf
@pytest.mark.parametrize("resize", RESIZES)
@pytest.mark.parametrize("size", [(32, 40), (90, 120), (1, 1)])
def test_the_size_is_the_one_asked_for(tf, resize, size):
    result = loaded(tf, resize, jpeg(photo(61, 83)), *size)

    assert result.shape == (*size, 3)
    assert result.dtype == np.uint8


@pytest.mark.loads_tf
def test_bilinear_is_what_tensorflow_resizes_to_within_one_level(tf):
    array = photo(61, 83)

    expected = tf.image.resize(array, (32, 40)).numpy()

    assert abs(loaded(tf, "bilinear", png(array), 32, 40) - expected).max() <= 1.0


@pytest.mark.loads_tf
def test_antialias_is_what_pillow_calls_bilinear(tf):
    from PIL import Image

    array = photo(61, 83)

    expected = Image.fromarray(array).resize((40, 32), Image.Resampling.BILINEAR)

    difference = loaded(tf, "antialias", png(array), 32, 40).astype(int) - np.asarray(expected)
    assert abs(difference).max() <= 1


@pytest.mark.loads_tf
@pytest.mark.parametrize("make", [png, jpeg])
@pytest.mark.parametrize("size", [(32, 40), (90, 120)])
def test_pil_is_what_pillow_does_by_default(tf, make, size):
    from PIL import Image

    content = make(photo(61, 83))

    expected = Image.open(io.BytesIO(content)).convert("RGB").resize((size[1], size[0]))

    difference = loaded(tf, "pil", content, *size).astype(int) - np.asarray(expected)
    assert abs(difference).max() <= 1


@pytest.mark.loads_tf
@pytest.mark.parametrize("stored", [(64, 128), (128, 64)])
def test_crop_keeps_the_middle_and_its_proportions(tf, stored):
    array = np.zeros((*stored, 3), np.uint8)
    top, left = (side // 2 - 32 for side in stored)
    array[top : top + 64, left : left + 64] = photo(64, 64)

    result = loaded(tf, "crop", png(array), 64, 64)

    assert np.array_equal(result, photo(64, 64))


@pytest.mark.loads_tf
def test_crop_shrinks_the_short_side_to_the_size(tf):
    array = photo(60, 90)

    expected = tf.image.resize(array[:, 15:75], (30, 30)).numpy()

    assert abs(loaded(tf, "crop", png(array), 30, 30) - expected).max() <= 0.501


@pytest.mark.loads_tf
@pytest.mark.parametrize("resize", RESIZES)
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff\xd8", id="the start of a JPEG"),
        pytest.param(b"hello", id="text"),
        pytest.param(truncated_jpeg(), id="half a JPEG"),
        pytest.param(png(photo(30, 40))[:90], id="the start of a PNG"),
        pytest.param(bomb_jpeg(), id="a JPEG of 900 million pixels"),
    ],
)
def test_what_is_no_whole_image_is_an_error(tf, resize, content):
    with pytest.raises(tf.errors.OpError):
        loaded(tf, resize, content, 32, 40)
