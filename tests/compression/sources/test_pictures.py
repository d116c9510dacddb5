"""Images in the size and the scale that a model takes."""

from pathlib import Path

import numpy as np
import pytest

from quickfit.compression.calibrating.inputs import Wanted
from quickfit.compression.sources.pictures import (
    SCALES,
    best_scale,
    image_size,
    in_channels,
    is_pack,
    scaled,
)
from quickfit.errors import UsageError

PATH = Path("photos")
BYTES = np.arange(256, dtype="uint8").reshape(1, 16, 16, 1)


def wanted(*shape):
    return [Wanted("image", ("image",), shape, "float32")]


def test_the_size_is_that_of_the_input():
    assert image_size(wanted(None, 8, 9, 3), PATH) == (8, 9)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((None, 20), "these are images, and the model takes something else"),
        ((None, 8, 8, 4), "these are images, and the model takes something else"),
        ((None, None, None, 3), "the model takes images of any size"),
    ],
)
def test_what_is_no_image_of_a_size_is_said(shape, said):
    with pytest.raises(UsageError, match=said):
        image_size(wanted(*shape), PATH)


def test_records_make_a_pack(tmp_path):
    assert not is_pack(tmp_path)
    (tmp_path / "a-00000.tfrecord").touch()
    assert is_pack(tmp_path)
    assert is_pack(tmp_path / "a-00000.tfrecord")
    assert not is_pack(tmp_path / "nowhere")


@pytest.mark.parametrize("name", SCALES)
def test_black_and_white_are_where_the_scale_has_them(name):
    images = scaled(BYTES, SCALES[name])
    assert images.dtype == np.float32
    assert (images.min(), images.max()) == pytest.approx(SCALES[name], abs=1e-6)


def test_colours_become_grey_by_their_brightness():
    colours = np.zeros((1, 2, 2, 3), "uint8")
    colours[..., 1] = 100
    grey = in_channels(colours, 1)
    assert (grey.shape, grey.dtype, grey.max()) == ((1, 2, 2, 1), np.uint8, 59)
    assert in_channels(colours, 3) is colours


def test_the_best_scale_is_the_one_with_most_right_answers():
    name, tried = best_scale(BYTES, lambda images: 0.9 if images.min() < 0 else 0.3)
    assert name == "-1 to 1"
    assert tried == {"0 to 255": 0.3, "0 to 1": 0.3, "-1 to 1": 0.9}
