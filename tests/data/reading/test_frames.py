"""TFRecord files, read in Python."""

import gzip
import zlib

import pytest

from quickfit.data.entries import Reason
from quickfit.data.reading.frames import Walked, compression_of, outcomes, walked
from quickfit.errors import PipelineError

from photos import jpeg, photo
from record_files import flipped, frame, written

RECORDS = [b"first", b"", b"x" * 200_000, b"last"]
FRAMES = [frame(record) for record in RECORDS]
compressions = pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])


@compressions
def test_all_records_are_read_and_counted(tmp_path, compression):
    file = str(written(tmp_path / "a", RECORDS, compression))
    assert compression_of(file) == compression
    assert list(outcomes(file, compression)) == RECORDS
    assert walked(file, compression, 10) == Walked(4, "", end_bytes=sum(map(len, FRAMES)))


@compressions
def test_counting_ends_where_it_takes_long(tmp_path, compression):
    file = str(written(tmp_path / "a", RECORDS, compression))
    assert walked(file, compression, 3) is None


@pytest.mark.parametrize("squeeze", [gzip.compress, zlib.compress])
def test_compressed_files_one_after_the_other_are_one(tmp_path, squeeze):
    file = tmp_path / "a"
    file.write_bytes(squeeze(frame(b"a")) + squeeze(frame(b"b")))
    assert list(outcomes(str(file), compression_of(str(file)))) == [b"a", b"b"]


def test_an_empty_file_has_no_records(tmp_path):
    file = str(written(tmp_path / "a", []))
    assert compression_of(file) == ""
    assert list(outcomes(file, "")) == []
    assert walked(file, "", 1) == Walked(0, "")


@pytest.mark.parametrize("cut", [1, 4, 7, 12, 16])
def test_a_file_that_is_cut_off_tells_where(tmp_path, cut):
    file = written(tmp_path / "a", RECORDS)
    file.write_bytes(file.read_bytes()[:-cut])
    assert list(outcomes(str(file), "")) == [*RECORDS[:3], "the file ends inside it"]
    assert walked(str(file), "", 10) == Walked(
        3, "the file ends inside it", Reason.TRUNCATED, sum(map(len, FRAMES[:3]))
    )


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_compressed_data_that_is_cut_off_tells_where(tmp_path, compression):
    file = written(tmp_path / "a", RECORDS, compression)
    file.write_bytes(file.read_bytes()[:-3])
    assert "ends early" in list(outcomes(str(file), compression))[-1]
    assert "ends early" in walked(str(file), compression, 10).damage


def test_compressed_data_that_is_damaged_tells_where(tmp_path):
    file = written(tmp_path / "a", RECORDS, "GZIP")
    flipped(file, 15)
    assert walked(str(file), "GZIP", 10).damage.startswith(("it cannot be read: ", "the checksum"))


def test_behind_a_changed_byte_reading_goes_on(tmp_path):
    file = written(tmp_path / "a", RECORDS)
    flipped(file, 13)
    wrong = "its bytes differ from its checksum"
    assert list(outcomes(str(file), "")) == [wrong, *RECORDS[1:]]


def test_behind_a_changed_length_nothing_can_be_read(tmp_path):
    file = written(tmp_path / "a", RECORDS)
    flipped(file, len(frame(RECORDS[0])) + 2)
    wrong = "the checksum of its length differs"
    assert list(outcomes(str(file), "")) == [RECORDS[0], wrong]
    assert walked(str(file), "", 10) == Walked(1, wrong, Reason.CORRUPT, len(FRAMES[0]))


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
