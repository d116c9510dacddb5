import contextlib
import io
import struct
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickfit.data import sources
from quickfit.data.entries import Entry, Reason, SourceImageError
from quickfit.data.sources.zip_archives import ZipReader, zip_members
from quickfit.errors import PipelineError

from hostile import hostile_zip, zip_with_same_names

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


CONTENTS = {f"cat/{number}.jpg": bytes([number]) * (300 + number) for number in range(6)}


class Unseekable(io.RawIOBase):
    """A pipe: what is written to it has its sizes after the content."""

    def __init__(self):
        self.content = b""

    def writable(self):
        return True

    def write(self, piece):
        self.content += bytes(piece)
        return len(piece)


def archive_bytes(*, method=zipfile.ZIP_DEFLATED, streamed=False):
    out = Unseekable() if streamed else io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in CONTENTS.items():
            archive.writestr(name, content)
    return out.content if streamed else out.getvalue()


VARIANTS = [
    pytest.param({"method": zipfile.ZIP_STORED}, id="stored"),
    pytest.param({}, id="deflated"),
    pytest.param({"streamed": True}, id="written to a pipe"),
]


def listed(path):
    return {member.name: member for member in zip_members(str(path), "x.zip")}


def read(path, member):
    return ZipReader().read(Entry(member.name, 0, member.size, str(path), member.offset))


@pytest.mark.parametrize("variant", VARIANTS)
def test_lists_and_reads_every_member(tmp_path, variant):
    path = tmp_path / "x.zip"
    path.write_bytes(archive_bytes(**variant))
    assert {name: read(path, member) for name, member in listed(path).items()} == CONTENTS


def test_reads_an_archive_behind_a_program_that_unpacks_it(tmp_path):
    path = tmp_path / "x.zip"
    path.write_bytes(b"#!/bin/sh\n" * 50 + archive_bytes())
    assert {name: read(path, member) for name, member in listed(path).items()} == CONTENTS


def test_reads_sizes_and_offsets_of_64_bits(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in CONTENTS.items():
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(content)
    raw = path.read_bytes()
    at = raw.index(b"PK\x05\x06")
    _, _, _, _, count, length, begin, _ = struct.unpack_from("<4s4H2LH", raw, at)
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, length, begin)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    path.write_bytes(raw[:at] + end64 + locator + end)
    assert zipfile.ZipFile(path).namelist() == list(CONTENTS)
    assert {name: read(path, member) for name, member in listed(path).items()} == CONTENTS


def test_sorts_out_a_hostile_archive(tmp_path):
    case = hostile_zip(tmp_path / "x.zip")
    source = sources.open_source(case.path)
    found, bad = {}, {}
    for entry in source.entries:
        try:
            found[entry.name] = source.read(entry)
        except SourceImageError as error:
            bad[entry.name] = error.reason.value
    assert found == case.good
    assert bad == case.at_reading
    assert {item.name: item.reason.value for item in source.rejected} == case.at_listing


def test_lists_both_of_two_members_with_one_name(tmp_path):
    contents = zip_with_same_names(tmp_path / "x.zip")
    source = sources.open_source(tmp_path / "x.zip")
    read = {entry.name: source.read(entry) for entry in source.entries}
    assert [read["cat/0.jpg"], read["cat/0.jpg#2"]] == contents
    assert len(read) == 3


@pytest.mark.parametrize(
    ("raw", "flags", "name"),
    [
        ("é".encode(), 0x800, "é"),
        ("é".encode(), 0, "é"),
        ("é".encode("cp437"), 0, "é"),
        (b"\xe9", 0x800, "\udce9"),
    ],
)
def test_reads_names_in_every_encoding(tmp_path, raw, flags, name):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Q" * len(raw) + ".jpg", b"content")
    content = bytearray(path.read_bytes().replace(b"Q" * len(raw) + b".jpg", raw + b".jpg"))
    at = content.index(b"PK\x01\x02") + 8
    content[at : at + 2] = struct.pack("<H", flags)
    path.write_bytes(content)
    assert list(listed(path)) == [f"{name}.jpg"]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.7, 0.9])
def test_of_an_archive_that_ends_early_lists_what_is_whole(tmp_path, variant, share):
    whole = archive_bytes(**variant)
    path = tmp_path / "x.zip"
    path.write_bytes(whole[: int(len(whole) * share)])
    members = listed(path)
    told = members.pop("x.zip", None)
    assert {name: read(path, member) for name, member in members.items()} == {
        name: CONTENTS[name] for name in list(CONTENTS)[: len(members)]
    }
    if len(members) < len(CONTENTS):
        assert told.fault == Reason.TRUNCATED
        assert f"after {len(members)} whole files" in told.detail


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(at=st.integers(0, 10**6), flip=st.integers(1, 255), streamed=st.booleans())
def test_damage_anywhere_never_gives_wrong_content(tmp_path, at, flip, streamed):
    content = bytearray(archive_bytes(streamed=streamed))
    content[at % len(content)] ^= flip
    path = tmp_path / "x.zip"
    path.write_bytes(content)
    try:
        source = sources.open_source(path, keep_odd_names=True)
    except PipelineError:
        return
    for entry in source.entries:
        with contextlib.suppress(SourceImageError):
            assert source.read(entry) in CONTENTS.values()


def test_tells_of_a_damaged_table_of_contents(tmp_path):
    path = tmp_path / "x.zip"
    content = bytearray(archive_bytes())
    second = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02") + 1)
    content[second] = 0
    path.write_bytes(content)
    members = listed(path)
    assert list(members) == ["cat/0.jpg", "x.zip"]
    assert "table of contents is damaged" in members["x.zip"].detail


def test_says_that_an_archive_is_one_of_several_parts(tmp_path):
    path = tmp_path / "x.zip"
    content = bytearray(archive_bytes())
    content[content.index(b"PK\x05\x06") + 4] = 3
    path.write_bytes(content)
    with pytest.raises(PipelineError, match=r"x\.zip: .*one of several parts: join them first"):
        listed(path)
