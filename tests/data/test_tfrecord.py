"""TFRecord files, read in Python."""

import dataclasses
import gzip
import io
import struct
import zlib

import pytest
from crc32c import crc32c  # noqa: TID253 - the library itself is what frames are compared with
from hypothesis import given
from hypothesis import strategies as st

from quickfit.data.entries import Reason
from quickfit.data.tfrecord import (
    FEATURES,
    BrokenExampleError,
    BrokenFrameError,
    ImageRecord,
    RecordCount,
    compression_of,
    count_records,
    example_before_image,
    file_crc32c,
    frame_head,
    frame_tail,
    mask_crc,
    parse_example,
    path_bytes,
    path_text,
    read_frames,
    read_records,
)
from quickfit.errors import PipelineError

from photos import jpeg, photo
from record_files import flipped, frame, written


def framed(*contents):
    return b"".join(frame_head(len(c)) + c + frame_tail(crc32c(c)) for c in contents)


def read(data):
    return [frame.content for frame in read_frames(io.BytesIO(data), len(data))]


def test_what_is_written_is_read_again():
    contents = [b"", b"one", bytes(range(256)) * 300]
    assert read(framed(*contents)) == contents


def test_frames_know_where_they_begin():
    data = framed(b"one", b"three")
    assert [frame.offset for frame in read_frames(io.BytesIO(data), len(data))] == [0, 19]


def test_a_checksum_is_masked_as_the_format_says():
    # The masked checksum of eight zero bytes, from the specification of TFRecord.
    assert (
        mask_crc(crc32c(bytes(8)))
        == (((crc32c(bytes(8)) >> 15) | (crc32c(bytes(8)) << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    )
    assert mask_crc(0) == 0xA282EAD8


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
    data = size + struct.pack("<I", mask_crc(crc32c(size))) + b"abc"
    with pytest.raises(BrokenFrameError, match="1,099,511,627,776 bytes"):
        read(data)


def test_the_checksum_of_a_file_is_that_of_its_bytes(tmp_path):
    data = bytes(range(256)) * 10_000
    (tmp_path / "file").write_bytes(data)
    assert file_crc32c(tmp_path / "file") == crc32c(data)


RECORDS = [b"first", b"", b"x" * 200_000, b"last"]
FRAMES = [frame(record) for record in RECORDS]
compressions = pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])


@compressions
def test_all_records_are_read_and_counted(tmp_path, compression):
    file = str(written(tmp_path / "a", RECORDS, compression))
    assert compression_of(file) == compression
    assert list(read_records(file, compression)) == RECORDS
    assert count_records(file, compression, 10) == RecordCount(
        4, "", end_bytes=sum(map(len, FRAMES))
    )


@compressions
def test_counting_ends_where_it_takes_long(tmp_path, compression):
    file = str(written(tmp_path / "a", RECORDS, compression))
    assert count_records(file, compression, 3) is None


@pytest.mark.parametrize("squeeze", [gzip.compress, zlib.compress])
def test_compressed_files_one_after_the_other_are_one(tmp_path, squeeze):
    file = tmp_path / "a"
    file.write_bytes(squeeze(frame(b"a")) + squeeze(frame(b"b")))
    assert list(read_records(str(file), compression_of(str(file)))) == [b"a", b"b"]


def test_an_empty_file_has_no_records(tmp_path):
    file = str(written(tmp_path / "a", []))
    assert compression_of(file) == ""
    assert list(read_records(file, "")) == []
    assert count_records(file, "", 1) == RecordCount(0, "")


@pytest.mark.parametrize("cut", [1, 4, 7, 12, 16])
def test_a_file_that_is_cut_off_tells_where(tmp_path, cut):
    file = written(tmp_path / "a", RECORDS)
    file.write_bytes(file.read_bytes()[:-cut])
    assert list(read_records(str(file), "")) == [*RECORDS[:3], "the file ends inside it"]
    assert count_records(str(file), "", 10) == RecordCount(
        3, "the file ends inside it", Reason.TRUNCATED, sum(map(len, FRAMES[:3]))
    )


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_compressed_data_that_is_cut_off_tells_where(tmp_path, compression):
    file = written(tmp_path / "a", RECORDS, compression)
    file.write_bytes(file.read_bytes()[:-3])
    assert "ends early" in list(read_records(str(file), compression))[-1]
    assert "ends early" in count_records(str(file), compression, 10).damage


def test_compressed_data_that_is_damaged_tells_where(tmp_path):
    file = written(tmp_path / "a", RECORDS, "GZIP")
    flipped(file, 15)
    assert count_records(str(file), "GZIP", 10).damage.startswith(
        ("it cannot be read: ", "the checksum")
    )


def test_behind_a_changed_byte_reading_goes_on(tmp_path):
    file = written(tmp_path / "a", RECORDS)
    flipped(file, 13)
    wrong = "its bytes differ from its checksum"
    assert list(read_records(str(file), "")) == [wrong, *RECORDS[1:]]


def test_behind_a_changed_length_nothing_can_be_read(tmp_path):
    file = written(tmp_path / "a", RECORDS)
    flipped(file, len(frame(RECORDS[0])) + 2)
    wrong = "the checksum of its length differs"
    assert list(read_records(str(file), "")) == [RECORDS[0], wrong]
    assert count_records(str(file), "", 10) == RecordCount(1, wrong, Reason.CORRUPT, len(FRAMES[0]))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        pytest.param(jpeg(photo()), "a JPEG image", id="jpeg"),
        pytest.param(b"path,label\na.jpg,1\n" * 3, "other data", id="table"),
        pytest.param(b"just some words", "text", id="text"),
        pytest.param(b"PK\x03\x04" + bytes(20), "a zip archive", id="zip"),
        pytest.param(b"\x28\xb5\x2f\xfd" + bytes(20), "TensorFlow cannot read", id="zstd"),
    ],
)
def test_a_file_of_another_kind_is_told_with_what_it_is(tmp_path, content, found):
    file = tmp_path / "a.tfrecord"
    file.write_bytes(content)
    with pytest.raises(PipelineError, match=found) as caught:
        compression_of(str(file))
    assert str(caught.value).startswith(f"{file}: is no TFRecord file")


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(PipelineError, match="cannot be read: Is a directory"):
        compression_of(str(tmp_path))


RECORD = ImageRecord(b"pixels", "jpeg", 375, 500, 3, 7, "cat/1.jpg", bytes(range(32)))


def message(record):
    return example_before_image(record) + record.image


@given(
    image=st.binary(max_size=70_000),
    sides=st.tuples(*[st.integers(0, 2**40)] * 3),
    label=st.integers(-(2**63), 2**63 - 1),
    path=st.binary(min_size=1, max_size=300),
)
def test_every_record_is_read_as_it_was_written(image, sides, label, path):
    record = ImageRecord(image, "png", *sides, label, path_text(path), bytes(32))
    assert parse_example(message(record)) == record


def test_names_that_are_no_utf8_keep_their_bytes():
    assert path_bytes(path_text(b"caf\xe9/\xff\n.jpg")) == b"caf\xe9/\xff\n.jpg"


def test_the_fields_are_those_of_the_spec():
    assert {field.name for field in dataclasses.fields(ImageRecord)} == set(FEATURES)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        pytest.param(b"", r"fields of a pack \(found: none\)", id="empty"),
        pytest.param(b"\x0a\xff", "a number does not end", id="a cut number"),
        pytest.param(b"\x0a\x7fabc", "longer than its message", id="a cut field"),
        pytest.param(b"\x08\x01", "wire type 0", id="another message"),
        pytest.param(b"\x0a\x02\x0a\x00", "no name or no value", id="an empty field"),
        pytest.param(b"\xff" * 11, "does not end", id="an endless number"),
        pytest.param(message(RECORD)[:-1], "longer than its message", id="cut"),
    ],
)
def test_what_is_no_record_says_why(content, what):
    with pytest.raises(BrokenExampleError, match=what):
        parse_example(content)


@given(st.binary(max_size=200))
def test_any_other_bytes_end_in_a_clear_error(content):
    with pytest.raises(BrokenExampleError, match=r"\w+ "):
        parse_example(content)


def test_a_field_of_the_wrong_kind_is_found():
    wrong = message(RECORD).replace(b"\x1a\x03\x0a\x01\x07", b"\x0a\x03\x0a\x01\x07")
    with pytest.raises(BrokenExampleError, match="fields of a pack"):
        parse_example(wrong)
