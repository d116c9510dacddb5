import io
import tarfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickfit.data import sources
from quickfit.data.entries import Entry, Reason, SourceImageError
from quickfit.data.sources.tar_archive import TarReader, tar_members
from quickfit.errors import PipelineError

from hostile import hostile_tar

CONTENTS = {f"cat/{number}.jpg": bytes([number]) * (600 + number) for number in range(5)}
LAYOUTS = pytest.mark.parametrize(
    "layout", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
)


def archive_bytes(layout=tarfile.PAX_FORMAT, contents=CONTENTS):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=layout) as archive:
        for name, content in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def listed(path):
    return {member.name: member for member in tar_members(str(path), "x.tar")}


def read(path, member):
    return TarReader().read(Entry(member.name, 0, member.size, str(path), member.offset))


@LAYOUTS
def test_lists_and_reads_every_member(tmp_path, layout):
    contents = {**CONTENTS, "d" * 90 + "/" + "n" * 90 + ".jpg": b"long"}
    path = tmp_path / "x.tar"
    path.write_bytes(archive_bytes(layout, contents))
    assert {name: read(path, member) for name, member in listed(path).items()} == contents


@pytest.mark.parametrize("layout", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_sorts_out_a_hostile_archive(tmp_path, layout, mode):
    case = hostile_tar(tmp_path / "x.tar", mode, layout)
    source = sources.open(sources.unpacked(case.path, tmp_path / "scratch"))
    assert {entry.name: source.read(entry) for entry in source.entries} == case.good
    assert {item.name: item.reason.value for item in source.rejected} == case.at_listing


@pytest.mark.parametrize("keep", [512, 700, 1536, 2048, 2600])
def test_of_an_archive_that_ends_early_lists_what_is_whole(tmp_path, keep):
    path = tmp_path / "x.tar"
    path.write_bytes(archive_bytes(tarfile.USTAR_FORMAT)[:keep])
    members = listed(path)
    told = members.pop("x.tar")
    assert list(members) == list(CONTENTS)[: keep // 1536]
    assert {name: read(path, member) for name, member in members.items()} == {
        name: CONTENTS[name] for name in members
    }
    assert told.fault == Reason.TRUNCATED
    assert f"ends early, at byte {keep // 1536 * 1536:,}" in told.detail


def test_takes_no_damaged_header_for_the_end(tmp_path):
    content = bytearray(archive_bytes(tarfile.USTAR_FORMAT))
    content[1536] ^= 0xFF
    path = tmp_path / "x.tar"
    path.write_bytes(content)
    members = listed(path)
    assert list(members) == ["cat/0.jpg", "x.tar"]
    assert members["x.tar"].fault == Reason.CORRUPT
    assert "damaged at byte 1,536" in members["x.tar"].detail


def test_says_that_a_sparse_file_cannot_be_read(tmp_path):
    path = tmp_path / "x.tar"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("GNUSparseFile.0/a.jpg")
        info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.name": "cat/a.jpg"}
        archive.addfile(info)
        old = tarfile.TarInfo("cat/b.jpg")
        old.type = tarfile.GNUTYPE_SPARSE
        archive.addfile(old)
        archive.addfile(tarfile.TarInfo("cat/c.jpg"))
    path.write_bytes(out.getvalue())
    members = listed(path)
    assert [members[name].fault for name in ("cat/a.jpg", "cat/b.jpg")] == [Reason.UNREADABLE] * 2
    assert "sparse file: unpack the archive first" in members["cat/a.jpg"].detail
    assert members["cat/c.jpg"].fault is None


def test_a_member_that_the_archive_lost_since_is_told(tmp_path):
    path = tmp_path / "x.tar"
    path.write_bytes(archive_bytes())
    member = listed(path)["cat/4.jpg"]
    path.write_bytes(archive_bytes()[: member.offset + 10])
    with pytest.raises(SourceImageError, match="the archive ends in it") as raised:
        read(path, member)
    assert raised.value.reason == Reason.TRUNCATED


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(at=st.integers(0, 10**6), value=st.integers(0, 255), keep=st.floats(0, 1))
def test_damage_anywhere_ends_in_a_clear_answer(tmp_path, at, value, keep):
    content = bytearray(archive_bytes())
    content[at % len(content)] = value
    path = tmp_path / "x.tar"
    path.write_bytes(content[: int(len(content) * keep)])
    try:
        source = sources.open(path, keep_odd_names=True)
    except PipelineError:
        return
    for entry in source.entries:
        assert len(source.read(entry)) == entry.size


MORE = {f"dog/{number}.jpg": bytes([number]) * 700 for number in range(3)}


def test_reads_on_behind_the_end_of_the_first_of_joined_archives(tmp_path):
    path = tmp_path / "x.tar"
    path.write_bytes(archive_bytes() + archive_bytes(contents=MORE))
    found = {name: read(path, member) for name, member in listed(path).items()}
    assert found == CONTENTS | MORE


def test_a_lone_block_of_zeros_does_not_end_the_archive(tmp_path):
    content = archive_bytes(tarfile.USTAR_FORMAT)
    path = tmp_path / "x.tar"
    path.write_bytes(content[:1536] + bytes(512) + content[1536:])
    assert {name: read(path, member) for name, member in listed(path).items()} == CONTENTS


@pytest.mark.parametrize(
    ("behind", "reason", "says"),
    [
        (b"?" * 512, Reason.CORRUPT, "damaged at byte 10,240, behind a mark of its end"),
        (b"?" * 9, Reason.TRUNCATED, "ends early, at byte 10,240"),
        (bytes(2_000_000) + b"?" * 512, Reason.CORRUPT, "damaged at byte 2,010,112"),
    ],
)
def test_what_cannot_be_read_behind_the_end_is_told(tmp_path, behind, reason, says):
    path = tmp_path / "x.tar"
    path.write_bytes(archive_bytes(tarfile.USTAR_FORMAT) + behind)
    members = listed(path)
    told = members.pop("x.tar")
    assert list(members) == list(CONTENTS)
    assert told.fault == reason
    assert says in told.detail
    assert "an unknown number of images is missing. Get a whole copy" in told.detail


def test_zeros_behind_the_end_are_nothing(tmp_path):
    path = tmp_path / "x.tar"
    path.write_bytes(archive_bytes() + bytes(3_000_001))
    assert list(listed(path)) == list(CONTENTS)


def test_a_text_is_no_archive_whatever_its_name(tmp_path):
    for name in ("x.tar", "x.zip"):
        path = tmp_path / name
        path.write_text("my thesis " * 100)
        with pytest.raises(PipelineError, match="cannot be read: it is no archive"):
            sources.open(path)
