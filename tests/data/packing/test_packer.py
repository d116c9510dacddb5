"""Packs that are killed, interrupted and out of space, and what is there afterwards."""

import errno
import fnmatch
import hashlib
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import psutil
import pytest

from quickfit.data import pack, sources
from quickfit.data.packing import Packed, read_manifest, verify
from quickfit.data.packing import destination as faults
from quickfit.data.tfrecord import read_frames
from quickfit.errors import PipelineError, UsageError

from hostile import bomb_png, hostile_folder, hostile_tar, hostile_zip, truncated_jpeg
from launch.sessions import PATIENCE_S
from photos import folder, jpeg, photo

PROGRAM = """
import sys
from quickfit.data import pack
source, destination, form, workers = sys.argv[1:]
pack(source, destination, form=form, workers=int(workers), shard_bytes=40_000, progress=False)
"""
KILLS = 50


def started(source, destination, form, workers=2):
    command = [sys.executable, "-c", PROGRAM, source, destination, form, str(workers)]
    # A group of its own, to be killed as one.
    return subprocess.Popen([*map(str, command)], start_new_session=True)


def kill(process, which):
    """Kill the pack, one of its workers, or all of them."""
    if which == "group":
        os.killpg(process.pid, signal.SIGKILL)
    elif which == "pack":
        process.kill()
    else:
        workers = psutil.Process(process.pid).children()
        if workers:
            workers[0].kill()
            return False
        process.kill()
    return True


def is_at_work(path):
    try:
        names = os.listdir(Path(path) / ".partial")
    except FileNotFoundError:  # not made yet, or removed at the end of the pack meanwhile
        return False
    return any(fnmatch.fnmatch(name, "*.tfrecord.*.writing") for name in names)


def has_ended(process, within_s=0.01):
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def killed_at_random(process, path, draw):
    """Kill at a random moment; return how often it was done before the process ended."""
    kills = 0
    waits_for_work = draw.random() < 0.7
    while True:
        try:
            while waits_for_work and not is_at_work(path) and not has_ended(process):
                pass
            # Most moments of a pack, from its start to its end.
            process.wait(draw.uniform(0, 0.3 if waits_for_work else 0.7))
            return kills
        except subprocess.TimeoutExpired:
            kills += 1
            if kill(process, draw.choice(["pack", "pack", "worker", "group"])):
                process.wait()
                return kills


def assert_whole(path):
    """See that every shard that is there can be read to its end and has its list."""
    for file in Path(path).glob("data-*.tfrecord"):
        with file.open("rb") as stream:
            count = sum(1 for _ in read_frames(stream, file.stat().st_size))
        assert count == len((file.parent / "index" / f"{file.stem}.jsonl").read_text().splitlines())


def test_after_fifty_kills_nothing_is_lost_and_nothing_is_there_twice(
    tmp_path, identities, content_of
):
    files = folder(tmp_path / "photos", {"cat": 60, "dog": 40}, size=(300, 400))
    source = Counter(
        (f"{f.parent.name}/{f.name}", int(f.parent.name == "dog"), hashlib.sha256(c).digest())
        for f, c in ((file, file.read_bytes()) for file in files)
    )
    draw = random.Random(8)
    kills = packs = 0
    while kills < KILLS:
        form = ("jpeg256", "original", "raw")[packs % 3]
        packed, whole = tmp_path / f"pack{packs}", tmp_path / f"whole-{form}"
        while kills < KILLS and not (packed / "manifest.json").exists():
            process = started(tmp_path / "photos", packed, form)
            kills += killed_at_random(process, packed, draw)
            assert_whole(packed)
        assert started(tmp_path / "photos", packed, form).wait() == 0
        if not whole.exists():
            assert started(tmp_path / "photos", whole, form, workers=1).wait() == 0
        assert content_of(packed) == content_of(whole)
        assert identities(packed) == source
        assert not verify(packed).faults
        packs += 1


def test_workers_end_when_the_pack_is_killed_and_let_go_of_the_folder(tmp_path):
    folder(tmp_path / "photos", {"cat": 60}, size=(300, 400))
    process = started(tmp_path / "photos", tmp_path / "pack", "jpeg256")
    while not is_at_work(tmp_path / "pack"):
        assert not has_ended(process)
    workers = psutil.Process(process.pid).children()
    process.kill()
    process.wait()
    assert workers
    _, alive = psutil.wait_procs(workers, timeout=PATIENCE_S)
    assert not alive
    how = {"form": "jpeg256", "shard_bytes": 40_000, "progress": False}
    assert pack(tmp_path / "photos", tmp_path / "pack", **how).count == 60


def test_an_interrupt_ends_the_workers_and_leaves_nothing_half_written(tmp_path):
    folder(tmp_path / "photos", {"cat": 60}, size=(300, 400))
    process = started(tmp_path / "photos", tmp_path / "pack", "raw")
    while not is_at_work(tmp_path / "pack"):
        assert not has_ended(process)
    workers = psutil.Process(process.pid).children()
    os.killpg(process.pid, signal.SIGINT)
    process.wait()
    assert not any(worker.is_running() for worker in workers)
    assert not list((tmp_path / "pack").glob(".partial/*.writing"))
    assert_whole(tmp_path / "pack")


@pytest.fixture
def small_disk(tmp_path):
    """Return a folder on a disk of two megabytes, and a function that makes it larger."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root alone")
    yield disk, lambda: subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_is_said_and_the_pack_goes_on_when_there_is_room(
    tmp_path, small_disk, content_of, workers, monkeypatch
):
    disk, enlarge = small_disk
    folder(tmp_path / "photos", {"cat": 30}, size=(300, 400))
    (disk / "others").write_bytes(bytes(1_300_000))
    # Its size is not known before, so it is tried.
    how = {"form": "jpeg256", "shard_bytes": 60_000, "workers": workers, "progress": False}
    with pytest.raises(PipelineError, match="the disk is full") as error:
        pack(tmp_path / "photos", disk / "pack", **how)
    assert "are still to be written" in str(error.value)
    assert "are free" in str(error.value)
    assert "the same command again" in str(error.value)
    assert_whole(disk / "pack")
    assert list((disk / "pack").glob("data-*.tfrecord"))
    assert not list((disk / "pack").glob(".partial/*.writing"))
    enlarge()
    pack(tmp_path / "photos", disk / "pack", **how)
    pack(tmp_path / "photos", tmp_path / "whole", **how)
    assert content_of(disk / "pack") == content_of(tmp_path / "whole")


def test_a_pack_that_cannot_fit_is_not_begun(tmp_path, small_disk):
    folder(tmp_path / "photos", {"cat": 30}, size=(60, 80))
    with pytest.raises(PipelineError, match=r"the pack needs about 4\.5 MB") as error:
        pack(tmp_path / "photos", small_disk[0] / "pack", form="raw", progress=False)
    assert "2.1 MB are free" in str(error.value)
    assert not list((small_disk[0] / "pack").glob("**/*.tfrecord"))


@pytest.fixture
def small_files():
    """Let no file of this process and its children become larger than 20 kB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_shard_that_may_not_become_so_large_is_said(photos, tmp_path, small_files, workers):
    with pytest.raises(PipelineError, match="a shard is larger than") as error:
        pack(photos, tmp_path / "pack", shard_bytes=60_000, workers=workers, progress=False)
    assert "--shard-mb" in str(error.value)
    assert not list((tmp_path / "pack").glob(".partial/*.writing"))


@pytest.mark.parametrize(
    ("number", "what"),
    [
        (errno.EDQUOT, "the quota of the disk is used up"),
        (errno.EROFS, "the pack cannot be written: Read-only file system (a.tfrecord)"),
    ],
)
def test_every_trouble_of_a_disk_is_told(tmp_path, number, what):
    error = OSError(number, os.strerror(number), "x/a.tfrecord")
    assert what in str(faults.unwritten_text(tmp_path, error, 10**9))


def test_shards_are_shared_evenly(photos, tmp_path):
    pack(photos, tmp_path / "pack", shard_bytes=20_000, progress=False)
    counts = [shard.count for shard in read_manifest(tmp_path / "pack").shards]
    assert max(counts) - min(counts) <= 1


def test_a_disk_that_holds_no_more_files_is_told_from_a_full_one(tmp_path, monkeypatch):
    used_up = os.statvfs_result((4096, 4096, 100, 90, 90, 8, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda folder: used_up)
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "x/a.tfrecord")
    assert "its inodes are used up" in str(faults.unwritten_text(tmp_path, error, 10**9))


SMALL = {"shard_bytes": 20_000, "progress": False}


def image_of(content):
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(content)))


def test_every_image_is_packed_with_its_label_and_its_bytes(photos, tmp_path, read_pack):
    packed = pack(photos, tmp_path / "pack", **SMALL)
    records = read_pack(packed.folder)
    expected = {
        (f"{file.parent.name}/{file.name}", ["cat", "dog"].index(file.parent.name)): file
        for file in photos.rglob("*.jpg")
    }
    assert {(r.path, r.label) for r in records} == set(expected)
    assert len(records) == len(expected) == packed.count == 40
    for record in records:
        content = expected[record.path, record.label].read_bytes()
        assert record.image == content
        assert record.sha256 == hashlib.sha256(content).digest()
        assert (record.format, record.height, record.width, record.channels) == ("jpeg", 60, 80, 3)


@pytest.mark.parametrize(
    "form", [{"form": "original"}, {"form": "jpeg256"}, {"form": "raw", "size": 24}], ids=str
)
def test_the_bytes_do_not_depend_on_the_workers(photos, tmp_path, content_of, form):
    packs = []
    for workers in (1, 2, 3):
        path = tmp_path / str(workers)
        pack(photos, path, workers=workers, shard_bytes=25_000, progress=False, **form)
        packs.append(content_of(path))
    assert len(read_manifest(path).shards) > 1
    assert packs[0] == packs[1] == packs[2]


def test_the_bytes_do_not_depend_on_where_the_source_lies(photos, tmp_path, content_of):
    folder(tmp_path / "copy", {"cat": 25, "dog": 15})
    pack(photos, tmp_path / "one", **SMALL)
    pack(tmp_path / "copy", tmp_path / "two", **SMALL)
    assert content_of(tmp_path / "one") == content_of(tmp_path / "two")


def test_another_seed_gives_the_same_images_in_another_order(photos, tmp_path, read_pack):
    pack(photos, tmp_path / "one", **SMALL)
    pack(photos, tmp_path / "two", seed=1, **SMALL)
    one, two = ([r.path for r in read_pack(tmp_path / name)] for name in ("one", "two"))
    assert one != two
    assert sorted(one) == sorted(two)


def test_jpeg256_is_upright_small_and_never_enlarged(tmp_path, read_pack):
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    source = tmp_path / "photos"
    source.mkdir()
    (source / "large.jpg").write_bytes(jpeg(photo(300, 600)))
    (source / "small.jpg").write_bytes(jpeg(photo(50, 70)))
    (source / "turned.jpg").write_bytes(jpeg(photo(50, 70), exif=exif))
    pack(source, tmp_path / "pack", form="jpeg256", progress=False)
    records = {record.path: record for record in read_pack(tmp_path / "pack")}
    sizes = {name: (r.height, r.width) for name, r in records.items()}
    assert sizes == {"large.jpg": (256, 512), "small.jpg": (50, 70), "turned.jpg": (70, 50)}
    for record in records.values():
        assert record.format == "jpeg"
        assert image_of(record.image).shape == (record.height, record.width, 3)


def test_raw_is_pixels_of_one_size(photos, tmp_path, read_pack):
    packed = pack(photos, tmp_path / "pack", form="raw", size="32x48", progress=False)
    assert packed.manifest.image_shape == (32, 48, 3)
    for record in read_pack(packed.folder):
        assert (record.format, record.height, record.width, record.channels) == ("raw", 32, 48, 3)
        assert len(record.image) == 32 * 48 * 3
    source = image_of((photos / record.path).read_bytes())
    pixels = np.frombuffer(record.image, np.uint8).reshape(32, 48, 3)
    assert abs(pixels.mean() - source.mean()) < 2


def test_the_manifest_tells_what_is_there(photos, tmp_path):
    pack(photos, tmp_path / "pack", **SMALL)
    manifest = json.loads((tmp_path / "pack" / "manifest.json").read_text())
    assert manifest["kind"] == "quickfit pack"
    assert manifest["version"] == 1
    assert (manifest["count"], manifest["rejected"]) == (40, 0)
    assert manifest["classes"] == ["cat", "dog"]
    assert manifest["class_counts"] == [25, 15]
    sizes = [os.path.getsize(tmp_path / "pack" / s["file"]) for s in manifest["shards"]]
    assert sizes == [shard["bytes"] for shard in manifest["shards"]]
    assert manifest["bytes"] == sum(sizes)
    assert manifest["sources"]["count"] == 40
    assert str(tmp_path) not in (tmp_path / "pack" / "manifest.json").read_text()


def test_nothing_of_the_making_stays(photos, tmp_path):
    pack(photos, tmp_path / "pack", progress=False)
    names = {file.name for file in (tmp_path / "pack").iterdir()}
    assert names == {
        *("data-00000-of-00001.tfrecord", "index", "manifest.json"),
        *("rejected.jsonl", "sources.jsonl"),
    }


def test_bad_images_are_listed_with_the_reason_and_the_rest_is_packed(
    tmp_path, read_pack, rejected_of
):
    source = tmp_path / "photos"
    folder(source, {"cat": 3})
    (source / "cat" / "half.jpg").write_bytes(truncated_jpeg())
    (source / "cat" / "bomb.png").write_bytes(bomb_png())
    (source / "cat" / "text.jpg").write_text("not found")
    (source / "cat" / "empty.jpg").write_bytes(b"")
    packed = pack(source, tmp_path / "pack", progress=False)
    assert rejected_of(packed.folder) == {
        "cat/bomb.png": "too-large",
        "cat/empty.jpg": "empty",
        "cat/half.jpg": "truncated",
        "cat/text.jpg": "not-an-image",
    }
    assert len(read_pack(packed.folder)) == packed.count == 3
    assert packed.class_counts == (3,)
    assert "4 of 7 images were left out" in repr(packed)
    assert not verify(packed.folder).faults


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (hostile_folder, "photos"),
        (hostile_zip, "a.zip"),
        (hostile_tar, "a.tar"),
        (lambda path: hostile_tar(path, "w:gz"), "a.tar.gz"),
    ],
    ids=["folder", "zip", "tar", "tar.gz"],
)
@pytest.mark.parametrize(("form", "size"), [("original", None), ("raw", 16)])
def test_the_worst_sources_are_packed_with_nothing_lost(
    tmp_path, read_pack, rejected_of, make, name, form, size
):
    case = make(tmp_path / name)
    packed = pack(case.path, tmp_path / "pack", form=form, size=size, workers=1, **SMALL)
    assert {r.path for r in read_pack(packed.folder)} == set(case.good)
    assert rejected_of(packed.folder) == case.at_listing | case.at_reading
    digests = {name: hashlib.sha256(content).digest() for name, content in case.good.items()}
    assert {r.path: r.sha256 for r in read_pack(packed.folder)} == digests
    assert not verify(packed.folder).faults


def test_a_file_that_vanishes_is_listed_and_the_rest_is_packed(tmp_path, rejected_of):
    folder(tmp_path / "photos", {"cat": 3})
    listed = sources.open_source(tmp_path / "photos")
    (tmp_path / "photos" / "cat" / "00001.jpg").unlink()
    packed = pack(listed, tmp_path / "pack", progress=False)
    assert rejected_of(packed.folder) == {"cat/00001.jpg": "vanished"}
    assert packed.count == 2


def test_only_a_full_check_finds_what_only_decoding_finds(tmp_path, rejected_of):
    folder(tmp_path / "photos", {"cat": 2})
    content = bytearray(jpeg(photo(60, 80)))
    middle = len(content) // 2
    content[middle : middle + 200] = b"\xff\xc4\x00\x04\x00\x00" + bytes(194)
    (tmp_path / "photos" / "cat" / "noise.jpg").write_bytes(content)
    assert pack(tmp_path / "photos", tmp_path / "quick", progress=False).rejected == 0
    pack(tmp_path / "photos", tmp_path / "full", check="full", progress=False)
    assert rejected_of(tmp_path / "full") == {"cat/noise.jpg": "corrupt"}


def test_odd_names_are_packed_with_their_bytes_on_request(tmp_path, read_pack):
    folder(tmp_path / "photos", {"cat": 1})
    odd = b"cat/caf\xe9\n.jpg"
    (tmp_path / "photos" / os.fsdecode(odd)).write_bytes(jpeg(photo()))
    assert pack(tmp_path / "photos", tmp_path / "plain", progress=False).rejected == 1
    packed = pack(tmp_path / "photos", tmp_path / "odd", keep_odd_names=True, progress=False)
    names = {os.fsencode(record.path) for record in read_pack(packed.folder)}
    assert odd in names
    index = (packed.folder / "index" / "data-00000-of-00001.jsonl").read_text()
    assert r"cat/caf\udce9\n.jpg" in index
    assert not verify(packed.folder).faults


def test_an_archive_gives_the_same_pack_as_its_folder(photos, tmp_path, content_of):
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        for file in photos.rglob("*.jpg"):
            archive.write(file, file.relative_to(photos))
    pack(photos, tmp_path / "one", **SMALL)
    pack(tmp_path / "photos.zip", tmp_path / "two", workers=2, **SMALL)
    assert content_of(tmp_path / "one") == content_of(tmp_path / "two")


def test_a_compressed_archive_gives_the_same_pack_and_its_scratch_is_removed(
    photos, tmp_path, content_of
):
    with tarfile.open(tmp_path / "photos.tgz", "w:gz") as archive:
        for name in ("cat", "dog"):
            archive.add(photos / name, name)
    pack(photos, tmp_path / "one", **SMALL)
    for _ in range(2):
        pack(tmp_path / "photos.tgz", tmp_path / "two", workers=2, **SMALL)
        assert content_of(tmp_path / "one") == content_of(tmp_path / "two")


def test_a_misspelt_source_leaves_nothing_behind(tmp_path):
    with pytest.raises(UsageError, match="none"):
        pack(tmp_path / "none", tmp_path / "pack", progress=False)
    assert not (tmp_path / "pack").exists()


def test_a_table_brings_its_labels(photos, tmp_path, read_pack):
    rows = [
        f"{f.relative_to(photos)},{len(f.parent.name) + i % 2}"
        for i, f in enumerate(sorted(photos.rglob("*.jpg")))
    ]
    (tmp_path / "table.csv").write_text("file,class\n" + "\n".join(rows) + "\n")
    pack(tmp_path / "table.csv", tmp_path / "pack", root=photos, progress=False)
    found = {r.path: r.label for r in read_pack(tmp_path / "pack")}
    assert found == {row.split(",")[0]: int(row.split(",")[1]) for row in rows}


def test_paths_and_labels_from_a_program_are_packed(photos, tmp_path, read_pack):
    paths = sorted(photos.rglob("*.jpg"))
    labels = ["even" if i % 2 == 0 else "odd" for i in range(len(paths))]
    packed = pack(paths, tmp_path / "pack", labels=labels, progress=False)
    assert packed.class_names == ("even", "odd")
    assert packed.class_counts == (20, 20)
    names = {path.name: labels.index(label) for path, label in zip(paths, labels, strict=True)}
    for record in read_pack(packed.folder):
        assert record.label == names[record.path.rpartition("/")[2]]


def test_a_finished_pack_is_found_and_nothing_is_done(photos, tmp_path, content_of):
    first = pack(photos, tmp_path / "pack", **SMALL)
    before = content_of(tmp_path / "pack")
    again = pack(photos, tmp_path / "pack", **SMALL)
    assert not first.was_there
    assert again.was_there
    assert content_of(tmp_path / "pack") == before
    assert isinstance(again, Packed)
    assert repr(again).startswith("already packed: 40 images")


def test_nothing_usable_is_an_error_with_the_reasons(tmp_path):
    (tmp_path / "photos").mkdir()
    for number in range(5):
        (tmp_path / "photos" / f"{number}.jpg").write_bytes(truncated_jpeg())
    with pytest.raises(PipelineError, match="nothing was packed: all 5 images were left out") as e:
        pack(tmp_path / "photos", tmp_path / "pack", progress=False)
    assert "(5 truncated)" in str(e.value)
    assert "'0.jpg'" in str(e.value)
    assert {file.name for file in (tmp_path / "pack").iterdir()} == {"rejected.jsonl"}
    # What was wrong can be repaired, and the same command works.
    (tmp_path / "photos" / "0.jpg").write_bytes(jpeg(photo()))
    assert pack(tmp_path / "photos", tmp_path / "pack", progress=False).count == 1


def test_what_looks_like_a_mistake_in_the_source_is_noted(tmp_path):
    folder(tmp_path / "photos", {"train/cat": 1, "train/dog": 1, "val/cat": 1})
    packed = pack(tmp_path / "photos", tmp_path / "pack", progress=False)
    assert "note: the classes are train, val: these look like splits" in repr(packed)


def test_the_limit_of_pixels_is_that_of_the_decoder():
    from quickfit.data import pixels
    from quickfit.data.packing import packer

    assert pixels.MAX_PIXELS == packer.MAX_PIXELS


def test_a_pack_does_not_become_a_part_of_its_source(photos):
    with pytest.raises(UsageError, match="would lie in its own source"):
        pack(photos, photos / "pack", progress=False)
    with pytest.raises(UsageError, match="would lie in its own source"):
        pack(photos, photos, progress=False)
    assert not (photos / "pack").exists()


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "two", 5000])
def test_a_number_of_workers_that_cannot_be_is_said(photos, tmp_path, workers):
    with pytest.raises(UsageError, match=r"workers is .*, and must be from 1 to 1,024"):
        pack(photos, tmp_path / "pack", workers=workers, progress=False)


def test_an_image_that_breaks_a_decoder_is_left_out(photos, tmp_path, monkeypatch, rejected_of):
    from quickfit.data import pixels

    whole = pixels.decode

    def breaks(content, *, header=None):
        if content == (photos / "cat" / "00003.jpg").read_bytes():
            raise IndexError("list index out of range")
        return whole(content, header=header)

    monkeypatch.setattr(pixels, "decode", breaks)
    packed = pack(photos, tmp_path / "pack", form="raw", size=8, workers=1, progress=False)
    assert rejected_of(packed.folder) == {"cat/00003.jpg": "corrupt"}
    assert "breaks the decoder: IndexError" in packed.rejections()[0].detail
    assert packed.count == 39


def test_too_little_memory_for_an_image_is_an_error_that_names_it(photos, tmp_path, monkeypatch):
    from quickfit.data import pixels

    def too_large(content, *, header=None):
        raise MemoryError

    monkeypatch.setattr(pixels, "decode", too_large)
    with pytest.raises(PipelineError, match="not enough memory for this image") as error:
        pack(photos, tmp_path / "pack", form="raw", workers=1, progress=False)
    assert "--max-pixels" in str(error.value)
