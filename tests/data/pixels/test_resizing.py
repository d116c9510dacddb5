"""Images in other sizes, as Pillow makes them, compiled or not."""

import shutil

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quickfit.data import pixels
from quickfit.data.pixels import resizing

from photos import photo

FILTERS = ["bilinear", "bicubic"]


def as_pillow_resizes(image, height, width, filter_name):
    from PIL import Image

    plain = image[..., 0] if image.shape[2] == 1 else image
    resampling = Image.Resampling[filter_name.upper()]
    resized = Image.fromarray(plain).resize((width, height), resampling)
    return np.asarray(resized).reshape(height, width, image.shape[2])


@pytest.fixture(params=["compiled", "Pillow"])
def kernel(request, monkeypatch):
    if request.param == "Pillow":
        monkeypatch.setattr(resizing, "_load_kernel", lambda: None)
    elif not pixels.is_compiled():
        pytest.skip("no compiler here")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler here")
def test_the_kernel_is_there_when_there_is_a_compiler():
    assert pixels.is_compiled()


@pytest.mark.parametrize("filter_name", FILTERS)
@pytest.mark.parametrize("size", [(224, 224), (100, 300), (33, 17), (400, 600), (375, 100)])
def test_resizes_photographs_as_pillow_does(filter_name, size):
    image = photo(375, 500)
    resized = pixels.resize(image, *size, filter=filter_name)
    np.testing.assert_array_equal(resized, as_pillow_resizes(image, *size, filter_name))


@given(
    st.tuples(*[st.integers(1, 70)] * 4),
    st.sampled_from([1, 3]),
    st.sampled_from(FILTERS),
    st.booleans(),
)
@example((1, 1, 5, 7), 3, "bicubic", True)
@example((10_000, 1, 3, 7), 3, "bicubic", True)
@example((1, 10_000, 7, 3), 1, "bilinear", True)
@example((31, 6, 15, 4), 3, "bicubic", True)
@example((16, 16, 8, 8), 3, "bilinear", False)
@example((3, 2, 300, 200), 3, "bicubic", True)
def test_resizes_noise_of_any_size_as_pillow_does(sizes, channels, filter_name, is_extreme):
    height, width, new_height, new_width = sizes
    draw = np.random.default_rng(height * 1000 + width)
    image = draw.integers(0, 256, (height, width, channels), dtype=np.uint8)
    if is_extreme:
        image = (image > 127).astype(np.uint8) * 255
    resized = pixels.resize(image, new_height, new_width, filter=filter_name)
    expected = as_pillow_resizes(image, new_height, new_width, filter_name)
    np.testing.assert_array_equal(resized, expected)


@pytest.mark.usefixtures("kernel")
def test_a_plain_surface_keeps_its_colour():
    image = np.full((300, 400, 3), (255, 128, 1), np.uint8)
    for filter_name in FILTERS:
        resized = pixels.resize(image, 7, 900, filter=filter_name)
        assert (resized == image[0, 0]).all()


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda image: image[10:50, 20:70], id="a crop"),
        pytest.param(lambda image: image[::-1], id="upside down"),
        pytest.param(lambda image: image[:, ::-1], id="mirrored"),
        pytest.param(lambda image: image[::2, ::3], id="thinned"),
        pytest.param(lambda image: image.swapaxes(0, 1), id="turned"),
        pytest.param(lambda image: image[..., 1:2], id="one channel of three"),
        pytest.param(np.asfortranarray, id="columns first"),
        pytest.param(lambda image: image[:1, :1], id="one pixel"),
    ],
)
def test_resizes_a_view_as_it_would_its_copy(view):
    image = photo(60, 80)
    copy = np.ascontiguousarray(view(image))
    np.testing.assert_array_equal(
        pixels.resize(view(image), 20, 30), as_pillow_resizes(copy, 20, 30, "bilinear")
    )


@pytest.mark.usefixtures("kernel")
def test_resizes_into_one_row_of_a_batch_and_nothing_else():
    batch = np.zeros((3, 20, 30, 3), np.uint8)
    pixels.resize_into(photo(), batch[1])
    np.testing.assert_array_equal(batch[1], pixels.resize(photo(), 20, 30))
    assert not batch[0].any()
    assert not batch[2].any()


@pytest.mark.usefixtures("kernel")
def test_resizes_into_memory_with_gaps():
    canvas = np.zeros((40, 60, 3), np.uint8)
    pixels.resize_into(photo(), canvas[5:25, ::2])
    np.testing.assert_array_equal(canvas[5:25, ::2], pixels.resize(photo(), 20, 30))
    assert not canvas[:, 1::2].any()
    assert not canvas[25:].any()


@pytest.mark.usefixtures("kernel")
def test_the_same_size_is_a_copy():
    image = photo()
    resized = pixels.resize(image, 60, 80)
    np.testing.assert_array_equal(resized, image)
    assert not np.shares_memory(resized, image)


@pytest.mark.parametrize(
    ("size", "short_side", "expected"),
    [
        ((60, 80), 30, (30, 40)),
        ((80, 60), 30, (40, 30)),
        ((61, 83), 30, (30, 41)),
        ((60, 80), 60, (60, 80)),
        ((60, 80), 500, (60, 80)),
        ((1, 900), 256, (1, 900)),
    ],
)
def test_shrinks_the_shorter_side_and_never_enlarges(size, short_side, expected):
    assert pixels.shrink(photo(*size), short_side).shape[:2] == expected


@pytest.mark.parametrize(
    ("image", "error", "words"),
    [
        (np.zeros((4, 4, 3), np.float32), TypeError, "pixels must be uint8, not float32"),
        (np.zeros((4, 4), np.uint8), ValueError, r"\[height, width, 1 or 3\].* not \[4, 4\]"),
        (np.zeros((4, 4, 4), np.uint8), ValueError, r"not \[4, 4, 4\]"),
        (np.zeros((0, 4, 3), np.uint8), ValueError, r"none of them 0, not \[0, 4, 3\]"),
    ],
)
def test_says_what_is_no_image(image, error, words):
    with pytest.raises(error, match=words):
        pixels.resize(image, 2, 2)
    with pytest.raises(error, match=words):
        pixels.resize_into(np.zeros((4, 4, 3), np.uint8), image)


def test_says_what_cannot_be_the_result():
    with pytest.raises(ValueError, match="height and width must be at least 1, not 0 and 5"):
        pixels.resize(photo(), 0, 5)
    with pytest.raises(ValueError, match="image has 3 channels and out has 1"):
        pixels.resize_into(photo(), np.zeros((4, 4, 1), np.uint8))
    with pytest.raises(ValueError, match="'bilinear', 'bicubic' or 'plain', not 'lanczos'"):
        pixels.resize(photo(), 4, 4, filter="lanczos")


@pytest.mark.parametrize(
    ("old", "new"),
    [((375, 500), (224, 224)), ((9, 5), (40, 30)), ((1, 1), (3, 2)), ((7, 90), (3, 1))],
)
def test_plain_takes_the_four_nearest_pixels_with_and_without_the_kernel(old, new):
    image = photo(*old)
    places = [
        np.clip((np.arange(count) + 0.5) * side / count - 0.5, 0, side - 1)
        for side, count in zip(old, new, strict=True)
    ]
    rows, columns = np.meshgrid(*places, indexing="ij")
    top, left = rows.astype(int), columns.astype(int)
    down, right = (rows - top)[..., None], (columns - left)[..., None]
    below, beside = np.minimum(top + 1, old[0] - 1), np.minimum(left + 1, old[1] - 1)
    upper = image[top, left] * (1 - right) + image[top, beside] * right
    lower = image[below, left] * (1 - right) + image[below, beside] * right
    exact = upper * (1 - down) + lower * down
    for made in (pixels.resize(image, *new, filter="plain"), resizing._nearest_four(image, *new)):
        assert np.abs(made - exact).max() <= 1.01
