import bz2
import gzip
import io
import lzma
import random
import resource
import tarfile

import pytest

from quickfit.data import sources
from quickfit.data.sources import unpacked, unpacking
from quickfit.errors import PipelineError, UsageError

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
    plain = unpacked(path, tmp_path / "scratch", lambda done, total: seen.append((done, total)))
    assert plain.name == "x.tar"
    assert plain.read_bytes() == tar_bytes()
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)
    assert [file.name for file in plain.parent.iterdir()] == ["x.tar"]
    assert len(sources.open(plain).entries) == 20


def test_uses_again_what_was_unpacked_before_unless_the_archive_changed(tmp_path):
    path = tmp_path / "x.tgz"
    path.write_bytes(gzip.compress(tar_bytes()))
    plain = unpacked(path, tmp_path / "scratch")
    before = plain.stat().st_mtime_ns
    assert unpacked(path, tmp_path / "scratch") == plain
    assert plain.stat().st_mtime_ns == before
    path.write_bytes(gzip.compress(tar_bytes(5)))
    assert unpacked(path, tmp_path / "scratch").read_bytes() == tar_bytes(5)


@pytest.mark.parametrize("where", [["a.jpg"], {"path": []}, None, "nowhere"])
def test_returns_everything_else_as_it_is(tmp_path, where):
    assert unpacked(where, tmp_path) is where
    assert unpacked(tmp_path, tmp_path) is tmp_path


@pytest.mark.parametrize("ending", PACKED)
def test_of_an_archive_that_ends_early_gives_what_came_before(tmp_path, ending):
    path = tmp_path / f"x.tar.{ending}"
    whole = tar_bytes(700)  # more than one block of bzip2
    packed = PACKED[ending](whole)
    path.write_bytes(packed[: len(packed) * 9 // 10])
    plain = unpacked(path, tmp_path / "scratch")
    assert whole.startswith(plain.read_bytes())
    source = sources.open(plain)
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
        unpacked(path, tmp_path / "scratch")
    assert list((tmp_path / "scratch").rglob("*.*")) == []


def test_stops_before_the_disk_is_full(tmp_path, monkeypatch):
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(tar_bytes()))
    monkeypatch.setattr(unpacking, "_SPARE_BYTES", 10**18)
    with pytest.raises(
        PipelineError, match=r"no room .*the disk is nearly full.* are free"
    ) as raised:
        unpacked(path, tmp_path / "scratch")
    assert "tar -xf" in str(raised.value)
    assert list((tmp_path / "scratch").rglob("*.*")) == []


def test_leaves_nothing_behind_when_the_disk_is_full(tmp_path):
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(tar_bytes()))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(PipelineError, match=r"no room to unpack it \(File too large\)"):
            unpacked(path, tmp_path / "scratch")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list((tmp_path / "scratch").rglob("*.*")) == []


def test_says_how_to_unpack_what_python_cannot(tmp_path):
    path = tmp_path / "x.tar.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd....")
    with pytest.raises(UsageError, match=r"compressed with zstd\. Unpack it first:\n    zstd -d"):
        unpacked(path, tmp_path / "scratch")


def test_says_that_the_scratch_folder_cannot_be_written(tmp_path):
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(tar_bytes()))
    (tmp_path / "scratch").write_text("a file")
    with pytest.raises(PipelineError, match=r"cannot be unpacked: (Not a directory|File exists)"):
        unpacked(path, tmp_path / "scratch")


@pytest.mark.parametrize("ending", PACKED)
def test_joined_archives_are_all_there(tmp_path, ending):
    path = tmp_path / f"x.tar.{ending}"
    path.write_bytes(PACKED[ending](tar_bytes(3)) + PACKED[ending](tar_bytes(2)))
    source = sources.open(unpacked(path, tmp_path / "scratch"))
    assert len(source.entries) == 5
    assert source.rejected == ()


@pytest.mark.parametrize("ending", PACKED)
def test_the_second_of_joined_archives_is_missed(tmp_path, ending):
    path = tmp_path / f"x.tar.{ending}"
    path.write_bytes(PACKED[ending](tar_bytes(3)) + PACKED[ending](tar_bytes(2))[:6])
    source = sources.open(unpacked(path, tmp_path / "scratch"))
    assert len(source.entries) == 3
    assert "the archive ends early" in source.rejected[0].detail


@pytest.mark.parametrize("ending", PACKED)
def test_something_else_behind_the_archive_is_told(tmp_path, ending):
    path = tmp_path / f"x.tar.{ending}"
    path.write_bytes(PACKED[ending](tar_bytes(3)) + bytes(8) + b"something else" * 9)
    source = sources.open(unpacked(path, tmp_path / "scratch"))
    assert len(source.entries) == 3
    assert "an unknown number of images is missing" in source.rejected[0].detail


@pytest.mark.parametrize("ending", PACKED)
def test_zeros_behind_the_archive_are_nothing(tmp_path, ending):
    path = tmp_path / f"x.tar.{ending}"
    path.write_bytes(PACKED[ending](tar_bytes(3)) + bytes(2_000_000))
    source = sources.open(unpacked(path, tmp_path / "scratch"))
    assert (len(source.entries), source.rejected) == (3, ())
