"""Packs that are killed, interrupted and out of space, and what is there afterwards."""

import errno
import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest

from quickfit.data import pack
from quickfit.data.packing import faults, read_manifest, verify
from quickfit.data.packing.framing import frames
from quickfit.errors import PipelineError

from photos import folder

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
    return any(Path(path).glob(".partial/*.tfrecord.*.writing"))


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
            count = sum(1 for _ in frames(stream, file.stat().st_size))
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
    _, alive = psutil.wait_procs(workers, timeout=60)
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
    assert what in str(faults.not_written(tmp_path, error, 10**9))


def test_shards_are_shared_evenly(photos, tmp_path):
    pack(photos, tmp_path / "pack", shard_bytes=20_000, progress=False)
    counts = [shard.count for shard in read_manifest(tmp_path / "pack").shards]
    assert max(counts) - min(counts) <= 1


def test_a_disk_that_holds_no_more_files_is_told_from_a_full_one(tmp_path, monkeypatch):
    used_up = os.statvfs_result((4096, 4096, 100, 90, 90, 8, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda folder: used_up)
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "x/a.tfrecord")
    assert "its inodes are used up" in str(faults.not_written(tmp_path, error, 10**9))
