import struct
import zipfile

import pytest

from quickfit.data.entries import Entry, Reason, SourceImageError
from quickfit.data.sources.zip_reader import ZipReader

CONTENT = bytes(range(256)) * 10


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.jpg", CONTENT, zipfile.ZIP_DEFLATED)
        archive.writestr("b.jpg", CONTENT, zipfile.ZIP_STORED)
    return path


def refusal(path, offset=0, size=2560):
    with pytest.raises(SourceImageError) as raised:
        ZipReader().read(Entry("a.jpg", 0, size, str(path), offset))
    return raised.value.reason, raised.value.detail


def stored_at(path):
    return path.read_bytes().index(b"PK\x03\x04", 4)


def test_reads_a_member_with_a_very_long_name(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("n" * 5000 + ".jpg", CONTENT)
    assert ZipReader().read(Entry("n", 0, len(CONTENT), str(path), 0)) == CONTENT


def test_says_that_there_is_no_file_where_one_was(path):
    assert refusal(path, offset=7) == (
        Reason.CORRUPT,
        "the archive has no file at this place: it is damaged or has changed",
    )


@pytest.mark.parametrize("at", [60, 100])
def test_says_that_the_content_is_damaged(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)
    assert refusal(path)[0] == Reason.CORRUPT


def test_says_that_stored_content_is_not_what_the_checksum_says(path):
    content = bytearray(path.read_bytes())
    content[stored_at(path) + 100] ^= 0xFF
    path.write_bytes(content)
    reason, detail = refusal(path, stored_at(path))
    assert (reason, detail) == (Reason.CORRUPT, "its checksum is not the one in the archive")


def test_inflates_no_more_than_the_archive_says(path):
    assert refusal(path, size=100)[1] == "it is larger than the 100 bytes that the archive says"


def test_says_that_a_member_is_smaller_than_the_archive_says(path):
    assert refusal(path, size=9999) == (
        Reason.CORRUPT,
        "it has 2,560 bytes, the archive says 9,999",
    )


@pytest.mark.parametrize("keep", [100, 500])
def test_says_where_the_archive_ends(path, keep):
    offset = 0 if keep == 100 else stored_at(path)
    content = path.read_bytes()[: offset + keep]
    path.write_bytes(content)
    reason, detail = refusal(path, offset)
    assert reason == Reason.TRUNCATED
    assert detail == f"the archive ends in it, after {len(content):,} bytes"


def test_believes_no_compressed_size_that_cannot_be(path):
    content = bytearray(path.read_bytes())
    content[18:22] = struct.pack("<L", 0xFFFFFF00)
    path.write_bytes(content)
    assert ZipReader().read(Entry("a.jpg", 0, len(CONTENT), str(path), 0)) == CONTENT
