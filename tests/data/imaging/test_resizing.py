"""The four ways to a size, held against the libraries that people know them from."""

import functools
import io

import numpy as np
import pytest

from quickfit.data.imaging.resizing import RESIZES, loader

from hostile import bomb_jpeg, truncated_jpeg
from photos import jpeg, photo

pytestmark = pytest.mark.loads_tf


def png(array):
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(array).save(content, "PNG")
    return content.getvalue()


@functools.cache
def _graph(resize, height, width):
    import tensorflow as tf

    return tf.function(loader(resize, height, width), autograph=False)


def loaded(tf, resize, content, height, width):
    return _graph(resize, height, width)(tf.constant(content)).numpy()


@pytest.mark.parametrize("resize", RESIZES)
@pytest.mark.parametrize("size", [(32, 40), (90, 120), (1, 1)])
def test_the_size_is_the_one_asked_for(tf, resize, size):
    result = loaded(tf, resize, jpeg(photo(61, 83)), *size)

    assert result.shape == (*size, 3)
    assert result.dtype == np.uint8


def test_bilinear_is_what_tensorflow_resizes_to_within_one_level(tf):
    array = photo(61, 83)

    expected = tf.image.resize(array, (32, 40)).numpy()

    assert abs(loaded(tf, "bilinear", png(array), 32, 40) - expected).max() <= 1.0


def test_antialias_is_what_pillow_calls_bilinear(tf):
    from PIL import Image

    array = photo(61, 83)

    expected = Image.fromarray(array).resize((40, 32), Image.Resampling.BILINEAR)

    difference = loaded(tf, "antialias", png(array), 32, 40).astype(int) - np.asarray(expected)
    assert abs(difference).max() <= 1


@pytest.mark.parametrize("make", [png, jpeg])
@pytest.mark.parametrize("size", [(32, 40), (90, 120)])
def test_pil_is_what_pillow_does_by_default(tf, make, size):
    from PIL import Image

    content = make(photo(61, 83))

    expected = Image.open(io.BytesIO(content)).convert("RGB").resize((size[1], size[0]))

    difference = loaded(tf, "pil", content, *size).astype(int) - np.asarray(expected)
    assert abs(difference).max() <= 1


@pytest.mark.parametrize("stored", [(64, 128), (128, 64)])
def test_crop_keeps_the_middle_and_its_proportions(tf, stored):
    array = np.zeros((*stored, 3), np.uint8)
    top, left = (side // 2 - 32 for side in stored)
    array[top : top + 64, left : left + 64] = photo(64, 64)

    result = loaded(tf, "crop", png(array), 64, 64)

    assert np.array_equal(result, photo(64, 64))


def test_crop_shrinks_the_short_side_to_the_size(tf):
    array = photo(60, 90)

    expected = tf.image.resize(array[:, 15:75], (30, 30)).numpy()

    assert abs(loaded(tf, "crop", png(array), 30, 30) - expected).max() <= 0.501


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
