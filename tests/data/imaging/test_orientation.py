"""Photographs are turned the right way up, whatever way the camera was held."""

import pytest

from quickfit.data import pixels
from quickfit.data.entries import SourceImageError
from quickfit.data.imaging.orientation import may_be_turned, shrunk_upright

from cameras import exif_data
from photos import jpeg, photo

PROFILE = b"\xff\xe2" + (3000).to_bytes(2, "big") + b"ICC_PROFILE\0\1\1" + bytes(2984)


def upright_image(content, at_least):
    return shrunk_upright(content, pixels.look(content), at_least)


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
    header = pixels.look(content)

    with pytest.raises(SourceImageError):
        shrunk_upright(content[:300], header, (10, 10))


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
