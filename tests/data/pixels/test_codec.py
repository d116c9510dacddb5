"""Pixels as Pillow decodes them, from every kind of file, the right way up."""

import io
import re
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pixels.formats import as_pillow_reads, exif_saying, files, png_chunk, saved

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.pixels import decode, encode_jpeg, read_header

from photos import jpeg, photo

KINDS = sorted(files())


def refused(content):
    header = read_header(content)
    with pytest.raises(SourceImageError) as caught:
        decode(content, header=header)
    return caught.value.reason, caught.value.detail


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "png 16 bits"])
def test_decodes_as_pillow_does(kind):
    content = files()[kind]
    np.testing.assert_array_equal(decode(content), as_pillow_reads(content))


@pytest.mark.parametrize("kind", KINDS)
def test_pixels_are_one_block_that_may_be_written(kind):
    pixels = decode(files()[kind], header=read_header(files()[kind]))
    assert (pixels.shape, pixels.dtype) == ((45, 70, 3), np.uint8)
    assert pixels.flags.c_contiguous
    assert pixels.flags.writeable


def test_gray_of_16_bits_keeps_the_upper_8():
    gray = as_pillow_reads(files()["png gray"])
    np.testing.assert_array_equal(decode(files()["png 16 bits"]), gray)


def _rgb_of_16_bits(pixels):
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 16, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(*chunk) for chunk in chunks)


def test_colours_of_16_bits_keep_the_upper_8():
    wide = photo().astype(np.uint16) * 256 + 200
    np.testing.assert_array_equal(decode(_rgb_of_16_bits(wide)), photo())


def test_inks_with_their_brightness_apart_are_converted_as_pillow_does():
    import simplejpeg
    from PIL import Image

    inks = np.ascontiguousarray(Image.fromarray(photo()).convert("CMYK"))
    content = simplejpeg.encode_jpeg(inks, colorspace="CMYK")
    assert read_header(content).channels == 4
    np.testing.assert_array_equal(decode(content), as_pillow_reads(content))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format_name", ["JPEG", "PNG", "WEBP", "AVIF"])
def test_turns_a_picture_as_pillow_does(orientation, format_name):
    from PIL import Image, ImageOps

    content = saved(Image.fromarray(photo()), format_name, exif=exif_saying(orientation))
    turned = ImageOps.exif_transpose(Image.open(io.BytesIO(content))).convert("RGB")
    pixels = decode(content)
    np.testing.assert_array_equal(pixels, np.asarray(turned))
    assert pixels.flags.c_contiguous


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda c: c[:20] + b"xyz" + c[20:], id="bytes between its segments"),
        pytest.param(lambda c: c[:20] + b"\xff\xff" + c[20:], id="fill bytes"),
        pytest.param(lambda c: c.replace(b"JFIF\0\1", b"JFIF\0\7"), id="a version of tomorrow"),
        pytest.param(lambda c: c[:-2] + b"abc" + c[-2:], id="bytes before its end"),
        pytest.param(lambda c: c + bytes(5000), id="zeros after its end"),
    ],
)
def test_a_jpeg_is_read_that_has(changed):
    content = files()["jpeg"]
    np.testing.assert_array_equal(decode(changed(content)), decode(content))


def test_odd_exif_data_is_no_warning():
    odd = exif_saying(6)[:-4] + b"\xff" * 4
    content = saved(_cmyk(), "JPEG", exif=odd)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert decode(content).shape == (80, 60, 3)
        # A version of tomorrow is left to Pillow, which would read the EXIF data.
        decode(content.replace(b"JFIF\0\1", b"JFIF\0\7"))


def _cmyk():
    from PIL import Image

    return Image.fromarray(photo()).convert("CMYK")


def test_says_what_libjpeg_says_of_broken_picture_data():
    content = bytearray(jpeg(photo(200, 200)))
    middle = len(content) // 2
    content[middle : middle + 400] = b"\xff\xd0" * 200
    reason, detail = refused(bytes(content))
    assert reason == Reason.CORRUPT
    assert detail.startswith("cannot be decoded: Corrupt JPEG data")


def test_picture_data_that_ends_early_is_corrupt_even_with_an_end_marker():
    content = jpeg(photo(200, 200))
    reason, detail = refused(content[: len(content) // 2] + b"\xff\xd9")
    assert reason in (Reason.CORRUPT, Reason.TRUNCATED)
    assert "remature end" in detail


def test_a_flipped_bit_in_a_png_is_noticed():
    content = bytearray(files()["png"])
    at = content.index(b"IDAT")
    content[at + 500] ^= 4
    assert refused(bytes(content)) == (
        Reason.CORRUPT,
        f"the checksum of its IDAT chunk at byte {at + 4:,} is wrong",
    )


def test_a_wrong_checksum_of_a_comment_does_not_matter():
    content = files()["png"]
    comment = bytearray(png_chunk(b"tEXt", b"Title\0a cat"))
    comment[-1] ^= 1
    at = content.index(b"IDAT") - 4
    np.testing.assert_array_equal(
        decode(content[:at] + bytes(comment) + content[at:]), decode(content)
    )


def _broken_png():
    content = files()["png"]
    header = content[: content.index(b"IDAT") - 4]
    return header + png_chunk(b"IDAT", b"no zlib data") + png_chunk(b"IEND", b"")


def _broken_webp():
    content = files()["webp lossless"]
    return content[:30] + b"\xff" * (len(content) - 30)


def _broken_gif():
    content = files()["gif"]
    # The first codes of the picture's data; the byte before gives how many follow.
    at = content.index(b"\x08\xff", 13 + 3 * 256) + 2
    return content[:at] + b"\xff" * 200 + content[at + 200 :]


@pytest.mark.parametrize("build", [_broken_png, _broken_webp, _broken_gif])
def test_says_what_pillow_says_of_broken_picture_data(build):
    reason, detail = refused(build())
    assert reason == Reason.CORRUPT
    assert re.match("cannot be decoded: .{8}", detail)


def test_a_gif_whose_first_frame_is_larger_than_its_screen_is_read_whole():
    content = files()["gif"]
    small = content[:6] + struct.pack("<HH", 10, 10) + content[10:]
    np.testing.assert_array_equal(decode(small), decode(content))


def test_many_threads_decode_at_once():
    contents = [files()[kind] for kind in KINDS] * 4
    alone = [decode(content) for content in contents]
    with ThreadPoolExecutor(4) as pool:
        for one, other in zip(alone, pool.map(decode, contents), strict=True):
            np.testing.assert_array_equal(one, other)


def _outcome(content):
    try:
        header = read_header(content, max_pixels=1_000_000)
        return header, decode(content, header=header)
    except SourceImageError as error:
        return None, error.detail


@given(st.sampled_from(KINDS), st.data())
def test_whatever_is_wrong_with_a_file_is_told_in_one_kind_of_error(kind, data):
    content = bytearray(files()[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    header, result = _outcome(bytes(content))
    if header is None:
        assert result
    else:
        assert {*result.shape[:2]} == {header.height, header.width}


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
    assert read_header(content).format == "jpeg"


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
