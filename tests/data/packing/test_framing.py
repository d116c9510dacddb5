import io
import struct

import pytest
from crc32c import crc32c  # noqa: TID253 - the library itself is what frames are compared with

from quickfit.data.packing.framing import (
    BrokenFrameError,
    file_crc32c,
    frames,
    head,
    masked,
    tail,
)


def framed(*contents):
    return b"".join(head(len(c)) + c + tail(crc32c(c)) for c in contents)


def read(data):
    return [frame.content for frame in frames(io.BytesIO(data), len(data))]


def test_what_is_written_is_read_again():
    contents = [b"", b"one", bytes(range(256)) * 300]
    assert read(framed(*contents)) == contents


def test_frames_know_where_they_begin():
    data = framed(b"one", b"three")
    assert [frame.offset for frame in frames(io.BytesIO(data), len(data))] == [0, 19]


def test_a_checksum_is_masked_as_the_format_says():
    # The masked checksum of eight zero bytes, from the specification of TFRecord.
    assert (
        masked(crc32c(bytes(8)))
        == (((crc32c(bytes(8)) >> 15) | (crc32c(bytes(8)) << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    )
    assert masked(0) == 0xA282EAD8


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        pytest.param(lambda d: d[:7], "the file ends 7 bytes into its head", id="in the head"),
        pytest.param(lambda d: d[:-6], "the file ends before", id="in the content"),
        pytest.param(lambda d: d[:-2], "the file ends before", id="in the tail"),
        pytest.param(lambda d: b"\xff" + d[1:], "the checksum of its length", id="the length"),
        pytest.param(lambda d: d[:14] + b"?" + d[15:], "the checksum of its content", id="content"),
    ],
)
def test_a_broken_frame_says_what_is_broken(damage, what):
    with pytest.raises(BrokenFrameError, match=what):
        read(damage(framed(b"hello")))


def test_a_length_that_lies_is_not_believed_even_with_a_right_checksum():
    size = struct.pack("<Q", 2**40)
    data = size + struct.pack("<I", masked(crc32c(size))) + b"abc"
    with pytest.raises(BrokenFrameError, match="1,099,511,627,776 bytes"):
        read(data)


def test_the_checksum_of_a_file_is_that_of_its_bytes():
    data = bytes(range(256)) * 10_000
    assert file_crc32c(io.BytesIO(data)) == crc32c(data)
