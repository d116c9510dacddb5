"""JPEG files from pixels: the same pixels, the same bytes."""

import numpy as np
import pytest

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.pixels import decode, encode_jpeg, look

from photos import photo


def test_what_is_encoded_looks_the_same_when_decoded():
    pixels = photo(90, 120)
    again = decode(encode_jpeg(pixels, quality=95))
    assert again.shape == pixels.shape
    assert np.abs(again.astype(int) - pixels).mean() < 3


def test_the_same_pixels_give_the_same_bytes_however_they_lie_in_memory():
    pixels = photo(90, 120)
    turned = np.asfortranarray(pixels)
    assert encode_jpeg(pixels, quality=90) == encode_jpeg(turned, quality=90)


def test_colours_have_half_the_resolution():
    import simplejpeg

    content = encode_jpeg(photo(90, 120), quality=90)
    assert simplejpeg.decode_jpeg_header(content)[3] == "420"
    assert look(content).format == "jpeg"


def test_a_higher_quality_takes_more_bytes():
    pixels = photo(90, 120)
    assert len(encode_jpeg(pixels, quality=95)) > len(encode_jpeg(pixels, quality=50))


@pytest.mark.parametrize("shape", [(1, 65_501, 3), (65_501, 1, 3)])
def test_a_side_longer_than_a_jpeg_can_be_is_refused(shape):
    with pytest.raises(SourceImageError) as caught:
        encode_jpeg(np.zeros(shape, np.uint8), quality=90)
    assert caught.value.reason == Reason.TOO_LARGE
    assert "65,501" in caught.value.detail
    assert "a JPEG has 65,500 at most on a side" in caught.value.detail
