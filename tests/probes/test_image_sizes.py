"""The size of an image is read from its head, as bytes or from a file."""

import struct

import pytest

from quickfit.probes._image_sizes import HEAD_BYTES, image_size


def jpeg(height=30, width=40, before=b"", marker=0xC0):
    frame = struct.pack(">BBHBHHB", 0xFF, marker, 8, 8, height, width, 3)
    return b"\xff\xd8" + before + frame + b"\0" * 20


def segment(size, marker=0xE1):
    return struct.pack(">BBH", 0xFF, marker, size + 2) + b"\1" * size


PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 40, 30) + b"\0" * 9


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param(jpeg(), "jpeg", id="a JPEG"),
        pytest.param(jpeg(before=segment(3000) + segment(60, 0xC4)), "jpeg", id="a preview before"),
        pytest.param(jpeg(marker=0xC2), "jpeg", id="a progressive JPEG"),
        pytest.param(PNG, "png", id="a PNG"),
    ],
)
def test_bytes_and_files_say_the_same(data, kind, tmp_path):
    file = tmp_path / "image"
    file.write_bytes(data)
    assert image_size(data) == (kind, 30, 40, len(data))
    assert image_size(str(file).encode()) == (kind, 30, 40, len(data))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"a sentence of some text", id="text"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"\0\1\2", id="other bytes"),
        pytest.param(b"x" * 5000, id="a long text"),
        pytest.param(b"\xff\xd8", id="a JPEG that was cut"),
        pytest.param(jpeg(before=segment(60_000) * 2)[:HEAD_BYTES], id="a frame too far in"),
        pytest.param(b"\x89PNG", id="a PNG that was cut"),
    ],
)
def test_what_is_no_image_has_no_size(data):
    assert image_size(data) is None


def test_a_file_that_is_no_image_has_no_size(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("1,2\n")
    assert image_size(str(file).encode()) is None
