"""What `look` reads from a header, and that it notices every file that is not whole."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pixels.formats import exif_saying, files, png_chunk, saved

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.pixels import ImageHeader, read_header

from photos import jpeg, photo

KINDS = sorted(files())
PNG_MAGIC = b"\x89PNG\r\n\x1a\n"


def refused(content, **options):
    with pytest.raises(SourceImageError) as caught:
        read_header(content, **options)
    return caught.value.reason, caught.value.detail


@pytest.mark.parametrize("kind", KINDS)
def test_reads_format_and_size_of(kind):
    header = read_header(files()[kind])
    assert (header.format, header.width, header.height) == (kind.split()[0], 70, 45)
    assert header.orientation == 1


@pytest.mark.parametrize(
    ("kind", "channels"),
    [
        ("jpeg", 3),
        ("jpeg gray", 1),
        ("jpeg cmyk", 4),
        ("png gray", 1),
        ("png gray alpha", 2),
        ("png palette", 3),
        ("png alpha", 4),
        ("gif", 3),
        ("bmp", 3),
        ("bmp alpha", 4),
        ("webp", 3),
        ("webp alpha", 4),
        ("webp lossless", 3),
        ("webp lossless alpha", 4),
        ("avif", 3),
        ("avif alpha", 4),
    ],
)
def test_counts_the_channels_in_the_file(kind, channels):
    assert read_header(files()[kind]).channels == channels


# Of a file of two pictures the first one is read, and only the second one is cut off.
WITH_AN_END = [kind for kind in KINDS if kind != "jpeg multi-picture"]


@pytest.mark.parametrize("kind", WITH_AN_END)
def test_notices_where_a_file_is_cut_off(kind):
    content = files()[kind]
    for percent in range(0, 100, 5):
        reason, detail = refused(content[: len(content) * percent // 100])
        assert reason in (Reason.TRUNCATED, Reason.EMPTY), (percent, detail)


@pytest.mark.parametrize("kind", WITH_AN_END)
def test_notices_that_the_last_byte_is_missing(kind):
    assert refused(files()[kind][:-1])[0] == Reason.TRUNCATED


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "rest", [bytes(5000), b"SEFT" * 99, b"\xff" * 50], ids=["zeros", "data of a phone", "ones"]
)
def test_allows_data_after_the_end(kind, rest):
    content = files()[kind]
    assert read_header(content + rest) == read_header(content)


def test_the_end_of_a_thumbnail_is_not_the_end_of_the_picture():
    content = jpeg(photo(), exif=exif_saying(1) + jpeg(photo(8, 8)))
    assert read_header(content).width == 80
    assert refused(content[:-300])[0] == Reason.TRUNCATED


def test_says_how_long_a_file_is_that_is_cut_off():
    assert refused(files()["jpeg"][:1200]) == (
        Reason.TRUNCATED,
        "ends after 1,200 bytes, before its end-of-image marker",
    )


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("order", "<>", ids=["little endian", "big endian"])
def test_reads_the_orientation_of_a_jpeg(orientation, order):
    content = jpeg(photo(), exif=exif_saying(orientation, order))
    assert read_header(content) == ImageHeader("jpeg", 80, 60, 3, orientation)


@pytest.mark.parametrize("format_name", ["PNG", "WEBP"])
def test_reads_the_orientation_of_other_formats(format_name):
    from PIL import Image

    image = Image.fromarray(photo())
    assert read_header(saved(image, format_name, exif=exif_saying(6))).orientation == 6


@pytest.mark.parametrize(
    "exif",
    [
        pytest.param(b"Exif\0\0", id="empty"),
        pytest.param(b"Exif\0\0II*\0", id="without a table"),
        pytest.param(b"Exif\0\0II*\0\xff\xff\xff\xff", id="a table beyond its end"),
        pytest.param(exif_saying(6)[:18], id="a table cut off"),
        pytest.param(exif_saying(9), id="an orientation of 9"),
        pytest.param(exif_saying(0), id="an orientation of 0"),
        pytest.param(b"Exif\0\0nonsense", id="nonsense"),
    ],
)
def test_takes_a_photograph_as_upright_when_its_exif_data_is(exif):
    assert read_header(jpeg(photo(), exif=exif)).orientation == 1


def test_says_how_to_get_a_pillow_that_reads_avif(monkeypatch):
    from PIL import AvifImagePlugin

    monkeypatch.setattr(AvifImagePlugin, "SUPPORTED", False)
    reason, detail = refused(files()["avif"])
    assert reason == Reason.NOT_AN_IMAGE
    assert detail.endswith("which this Pillow cannot read: pip install --upgrade pillow")


def test_an_avif_whose_boxes_make_no_sense_is_corrupt():
    content = bytearray(files()["avif"])
    content[:4] = (3).to_bytes(4, "big")
    assert refused(bytes(content)) == (
        Reason.CORRUPT,
        "the box at byte 0 says that it has 3 bytes",
    )


def test_tells_an_empty_file():
    assert refused(b"") == (Reason.EMPTY, "is empty (0 bytes)")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            b"just some notes\n",
            "is no JPEG, PNG, GIF, BMP, WebP or AVIF (it begins with b'just som')",
        ),
        (b"<!DOCTYPE html><html>", "is a page of HTML or XML, as failed downloads leave it"),
        (b"\n <svg xmlns=", "is a page of HTML or XML"),
        (b"%PDF-1.7", "is a PDF document"),
        (b"II*\0\x08\0\0\0", "is a TIFF image, which is not read here: convert it to PNG"),
        (b"\0\0\0\x18ftypheic", "is a HEIC photograph, which is not read here: convert it"),
        (b"\0\0\0\x18ftypmp42", "is a video"),
        (b"PK\x03\x04\x14", "is a zip archive"),
        (bytes(4096), "begins with zeros, as files do that were never written to the end"),
        (b"\0\x05\x16\x07\0", "is a file of macOS that goes with another one"),
        (b"version https://git-lfs.github.com/spec/v1", "fetch the file with `git lfs pull`"),
        (b"BMW is a make of car", "is no JPEG"),
        (b"\xff", "is no JPEG"),
    ],
)
def test_says_what_it_found_instead_of_an_image(content, words):
    reason, detail = refused(content)
    assert reason == Reason.NOT_AN_IMAGE
    assert words in detail


def _png_header(width, height, colour=2):
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0))
    return PNG_MAGIC + header + png_chunk(b"IDAT", b"") + png_chunk(b"IEND", b"")


def _jpeg_header(width, height):
    content = files()["jpeg"]
    at = content.index(b"\xff\xc0") + 5
    return content[:at] + struct.pack(">HH", height, width) + content[at + 4 :]


@pytest.mark.parametrize("build", [_png_header, _jpeg_header])
def test_refuses_a_picture_of_more_pixels_than_may_be_decoded(build):
    assert refused(build(30_000, 30_000)) == (
        Reason.TOO_LARGE,
        "has 30,000×30,000 pixels; at most 178,956,970 pixels are decoded",
    )


def test_the_limit_of_pixels_can_be_set():
    assert refused(files()["png"], max_pixels=70 * 45 - 1)[0] == Reason.TOO_LARGE
    assert read_header(files()["png"], max_pixels=70 * 45).width == 70
    assert read_header(_png_header(30_000, 30_000), max_pixels=10**9).width == 30_000


def _segments(count):
    return b"\xff\xd8" + b"\xff\xfe\0\x02" * count + files()["jpeg"][2:]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (_png_header(0, 5), "its header gives a size of 0×5 pixels"),
        (_png_header(5, 5, colour=9), "a colour type of 9, which PNG does not have"),
        (PNG_MAGIC + png_chunk(b"IDAT", bytes(20)), "does not begin with its header chunk"),
        (
            _png_header(5, 5).replace(png_chunk(b"IDAT", b""), b""),
            "it has no picture data",
        ),
        (PNG_MAGIC + _png_header(5, 5)[8:33] + png_chunk(b"tEXt", b"") * 200_001, "200,000 chunks"),
        (_jpeg_header(0, 9), "its header gives a size of 0×9 pixels"),
        (b"\xff\xd8\xff\xd9\0\0\0", "end-of-image marker comes at byte 2, before any picture data"),
        (b"\xff\xd8\xff\xfe\0\x01abc", "the segment at byte 2 has an impossible length"),
        (b"\xff\xd8\xff\xda\0\x02abc\xff\xd9", "begins without a frame header"),
        (b"\xff\xd8\xff\xc0\0\x03abc\xff\xda\0\2", "its frame header is too short"),
        (_segments(10_000), "more than 10,000 segments before its picture data"),
        (b"GIF89a\5\0\5\0\0\0\0;", "it has no picture"),
        (b"GIF89a\5\0\5\0\0\0\0?", "the block at byte 13 is of a kind that GIF does not have"),
        (b"RIFF\x04\0\0\0WEBP", "it has no picture data"),
        (b"RIFF\x10\0\0\0WEBPVP8 \xff\0\0\0abcd", "the chunk at byte 12 reaches beyond the end"),
        (b"RIFF\x10\0\0\0WEBPVP8X\x04\0\0\0abcd", "does not begin with the header of a picture"),
        (b"RIFF\x12\0\0\0WEBPVP8L\x05\0\0\0abcdef", "its lossless picture does not begin as one"),
        (b"RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0abcdefghij", "its lossy picture does not begin as one"),
        (
            b"BM" + bytes(8) + struct.pack("<IIiiHH", 54, 40, 5, 5, 1, 7) + bytes(99),
            "its header gives a width of 5 and 7 bits per pixel",
        ),
        (
            b"BM" + bytes(8) + struct.pack("<IIiiHHI", 54, 40, 5, 5, 1, 24, 9) + bytes(99),
            "its pixels are stored in a way BMP does not have (9)",
        ),
    ],
)
def test_says_how_a_file_contradicts_itself(content, words):
    reason, detail = refused(content)
    assert reason == Reason.CORRUPT
    assert words in detail


def test_a_bmp_whose_first_row_is_the_top_one_has_a_height():
    content = bytearray(files()["bmp"])
    content[22:26] = struct.pack("<i", -45)
    assert read_header(bytes(content)).height == 45


def test_a_gif_is_as_large_as_its_first_frame_reaches():
    content = bytearray(files()["gif"])
    content[6:10] = struct.pack("<HH", 10, 10)
    assert (read_header(bytes(content)).width, read_header(bytes(content)).height) == (70, 45)


def _outcome(content):
    try:
        return read_header(content)
    except SourceImageError as error:
        return error.detail


def test_a_first_frame_beyond_what_a_gif_can_be_is_refused():
    content = files()["gif"]
    at = content.index(b",\0\0\0\0", 13)
    reason, detail = refused(content[: at + 1] + struct.pack("<HH", 65_500, 0) + content[at + 5 :])
    assert reason == Reason.CORRUPT
    assert "its first frame reaches to 65,570×45 pixels, beyond any GIF" in detail


@given(st.sampled_from(KINDS), st.data())
def test_whatever_is_wrong_with_a_file_is_told_in_one_kind_of_error(kind, data):
    content = bytearray(files()[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(len(content), 300) - 1))
        content[at] = data.draw(st.integers(0, 255))
    assert _outcome(bytes(content))


MAGICS = [b"", b"\xff\xd8\xff", PNG_MAGIC, b"GIF89a", b"BM"]


@given(st.sampled_from(MAGICS), st.binary(max_size=400))
def test_bytes_of_any_kind_are_no_crash(magic, content):
    assert _outcome(magic + content)
