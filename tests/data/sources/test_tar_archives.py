import bz2
import gzip
import io
import lzma
import random
import resource
import tarfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickfit.data import sources
from quickfit.data.entries import Entry, Reason, SourceImageError
from quickfit.data.sources import tar_archives, unpack_archive
from quickfit.data.sources.tar_archives import TarReader, parse_tar_header, pax_records, tar_members
from quickfit.errors import PipelineError, UsageError

from hostile import hostile_tar


def block(name="a.jpg", size=5, **fields):
    info = tarfile.TarInfo(name)
    info.size = size
    for field, value in fields.items():
        setattr(info, field, value)
    return info.tobuf(tarfile.GNU_FORMAT)[:512]


def signed(block):
    """Sum the header as old programs did, with signed bytes."""
    blank = block[:148] + b" " * 8 + block[156:]
    total = sum(byte - 256 if byte > 127 else byte for byte in blank)
    return block[:148] + b"%06o\0 " % total + block[156:]


def test_reads_name_size_kind_and_link():
    header = parse_tar_header(block("a.jpg", 5, type=tarfile.SYMTYPE, linkname="b.jpg"))
    assert (header.name, header.size, header.kind, header.link) == (b"a.jpg", 0, b"2", b"b.jpg")


def test_reads_sizes_too_large_for_octal_digits():
    assert parse_tar_header(block(size=20_000_000_000)).size == 20_000_000_000


def test_accepts_the_sum_of_signed_bytes():
    assert parse_tar_header(signed(block("é.jpg"))).name == "é.jpg".encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        bytes(512),
        b"x" * 512,
        block()[:300],
        block().replace(b"a.jpg", b"b.jpg"),
    ],
)
def test_takes_nothing_else_for_a_header(content):
    header = parse_tar_header(content)
    assert header is None or header.name == b""


def test_refuses_a_size_that_is_no_number():
    broken = bytearray(block())
    broken[124:136] = b"-0000000005\0"
    blank = broken[:148] + b" " * 8 + broken[156:]
    broken[148:156] = b"%06o\0 " % sum(blank)
    assert parse_tar_header(bytes(broken)) is None


def test_reads_pax_records_and_stops_at_damage():
    assert pax_records(b"12 path=abc\n10 size=7\n") == {"path": b"abc", "size": b"7"}
    assert pax_records(b"12 path=abc\n99 size=7\n") == {"path": b"abc"}
    assert pax_records(b"0 x=1\n") == {}
    assert pax_records(b"nothing") == {}


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
    source = sources.open_source(sources.unpack_archive(case.path, tmp_path / "scratch"))
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
        source = sources.open_source(path, keep_odd_names=True)
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
            sources.open_source(path)


PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def tar_bytes(count=20):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for number in range(count):
            content = random.Random(number).randbytes(3000)
            info = tarfile.TarInfo(f"cat/{number:02d}.jpg")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


@pytest.mark.parametrize("ending", PACKED)
def test_unpacks_every_compression_to_the_plain_archive(tmp_path, ending):
    path = tmp_path / f"x.tar.{ending}"
    path.write_bytes(PACKED[ending](tar_bytes()))
    seen = []
    plain = unpack_archive(
        path, tmp_path / "scratch", lambda done, total: seen.append((done, total))
    )
    assert plain.name == "x.tar"
    assert plain.read_bytes() == tar_bytes()
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)
    assert [file.name for file in plain.parent.iterdir()] == ["x.tar"]
    assert len(sources.open_source(plain).entries) == 20


def test_uses_again_what_was_unpacked_before_unless_the_archive_changed(tmp_path):
    path = tmp_path / "x.tgz"
    path.write_bytes(gzip.compress(tar_bytes()))
    plain = unpack_archive(path, tmp_path / "scratch")
    before = plain.stat().st_mtime_ns
    assert unpack_archive(path, tmp_path / "scratch") == plain
    assert plain.stat().st_mtime_ns == before
    path.write_bytes(gzip.compress(tar_bytes(5)))
    assert unpack_archive(path, tmp_path / "scratch").read_bytes() == tar_bytes(5)


@pytest.mark.parametrize("where", [["a.jpg"], {"path": []}, None, "nowhere"])
def test_returns_everything_else_as_it_is(tmp_path, where):
    assert unpack_archive(where, tmp_path) is where
    assert unpack_archive(tmp_path, tmp_path) is tmp_path


@pytest.mark.parametrize("ending", PACKED)
def test_of_an_archive_that_ends_early_gives_what_came_before(tmp_path, ending):
    path = tmp_path / f"x.tar.{ending}"
    whole = tar_bytes(700)  # more than one block of bzip2
    packed = PACKED[ending](whole)
    path.write_bytes(packed[: len(packed) * 9 // 10])
    plain = unpack_archive(path, tmp_path / "scratch")
    assert whole.startswith(plain.read_bytes())
    source = sources.open_source(plain)
    assert len(source.entries) > 200
    assert source.rejected[0].name == "x.tar"
    assert "the archive ends early" in source.rejected[0].detail


@pytest.mark.parametrize("ending", PACKED)
def test_trusts_nothing_of_a_damaged_archive(tmp_path, ending):
    path = tmp_path / f"x.tar.{ending}"
    content = bytearray(PACKED[ending](tar_bytes()))
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(PipelineError, match=r"this archive is damaged.*\n.*get a new copy"):
        unpack_archive(path, tmp_path / "scratch")
    assert list((tmp_path / "scratch").rglob("*.*")) == []


def test_stops_before_the_disk_is_full(tmp_path, monkeypatch):
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(tar_bytes()))
    monkeypatch.setattr(tar_archives, "_SPARE_BYTES", 10**18)
    with pytest.raises(
        PipelineError, match=r"no room .*the disk is nearly full.* are free"
    ) as raised:
        unpack_archive(path, tmp_path / "scratch")
    assert "tar -xf" in str(raised.value)
    assert list((tmp_path / "scratch").rglob("*.*")) == []


def test_leaves_nothing_behind_when_the_disk_is_full(tmp_path):
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(tar_bytes()))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(PipelineError, match=r"no room to unpack it \(File too large\)"):
            unpack_archive(path, tmp_path / "scratch")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list((tmp_path / "scratch").rglob("*.*")) == []


def test_says_how_to_unpack_what_python_cannot(tmp_path):
    path = tmp_path / "x.tar.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd....")
    with pytest.raises(UsageError, match=r"compressed with zstd\. Unpack it first:\n    zstd -d"):
        unpack_archive(path, tmp_path / "scratch")


def test_says_that_the_scratch_folder_cannot_be_written(tmp_path):
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(tar_bytes()))
    (tmp_path / "scratch").write_text("a file")
    with pytest.raises(PipelineError, match=r"cannot be unpacked: (Not a directory|File exists)"):
        unpack_archive(path, tmp_path / "scratch")


@pytest.mark.parametrize("ending", PACKED)
def test_joined_archives_are_all_there(tmp_path, ending):
    path = tmp_path / f"x.tar.{ending}"
    path.write_bytes(PACKED[ending](tar_bytes(3)) + PACKED[ending](tar_bytes(2)))
    source = sources.open_source(unpack_archive(path, tmp_path / "scratch"))
    assert len(source.entries) == 5
    assert source.rejected == ()


@pytest.mark.parametrize("ending", PACKED)
def test_the_second_of_joined_archives_is_missed(tmp_path, ending):
    path = tmp_path / f"x.tar.{ending}"
    path.write_bytes(PACKED[ending](tar_bytes(3)) + PACKED[ending](tar_bytes(2))[:6])
    source = sources.open_source(unpack_archive(path, tmp_path / "scratch"))
    assert len(source.entries) == 3
    assert "the archive ends early" in source.rejected[0].detail


@pytest.mark.parametrize("ending", PACKED)
def test_something_else_behind_the_archive_is_told(tmp_path, ending):
    path = tmp_path / f"x.tar.{ending}"
    path.write_bytes(PACKED[ending](tar_bytes(3)) + bytes(8) + b"something else" * 9)
    source = sources.open_source(unpack_archive(path, tmp_path / "scratch"))
    assert len(source.entries) == 3
    assert "an unknown number of images is missing" in source.rejected[0].detail


@pytest.mark.parametrize("ending", PACKED)
def test_zeros_behind_the_archive_are_nothing(tmp_path, ending):
    path = tmp_path / f"x.tar.{ending}"
    path.write_bytes(PACKED[ending](tar_bytes(3)) + bytes(2_000_000))
    source = sources.open_source(unpack_archive(path, tmp_path / "scratch"))
    assert (len(source.entries), source.rejected) == (3, ())
