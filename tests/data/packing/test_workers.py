import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from quickfit.data import pack, sources
from quickfit.data.entries import Entry, Reason, SourceImageError
from quickfit.data.packing.manifest import PackLayout
from quickfit.data.packing.plan import check_settings
from quickfit.data.packing.workers import (
    ShardContext,
    ShardFailedError,
    ShardJob,
    hash_ahead,
    make_shards,
    work_ahead,
)
from quickfit.errors import PipelineError
from quickfit.lab import pool

GONE = SourceImageError(Reason.VANISHED, "it is gone")


def entries(number, size=1000):
    return [Entry(f"{position:04d}", 0, size, "") for position in range(number)]


@pytest.mark.parametrize("number", [0, 1, 3, 4, 5, 100])
def test_everything_comes_once_and_in_order(number):
    listed = entries(number)
    found = list(work_ahead(listed, lambda entry: entry.name * 2, 3))
    assert found == [(entry, entry.name * 2) for entry in listed]


def test_what_work_raises_comes_when_its_entry_does():
    def work(entry):
        if entry.name == "0050":
            raise KeyError(entry.name)
        return 1

    seen = []
    with pytest.raises(KeyError, match="0050"):
        seen.extend(entry for entry, _ in work_ahead(entries(100), work, 3))
    assert not any(thread.name.startswith("ThreadPool") for thread in threading.enumerate())


def test_threads_end_when_nobody_goes_on():
    with closing(work_ahead(entries(1000), lambda entry: 1, 3)) as results:
        next(results)
    assert not any(thread.name.startswith("ThreadPool") for thread in threading.enumerate())


def most_ahead(number, size):
    """Return how many were worked on at most before the one that was taken."""
    worked, most = [], 0
    for taken, _ in enumerate(work_ahead(entries(number, size), worked.append, 2), 1):
        most = max(most, len(worked) - taken)
    return most


def test_only_a_few_are_worked_on_ahead():
    assert most_ahead(400, 1000) <= 16


def test_large_images_do_not_wait_in_memory():
    assert most_ahead(40, 100_000_000) <= 1


def read(entry):
    return GONE if entry.name == "0007" else entry.name.encode()


@pytest.mark.parametrize("count", [0, 1, 16, 100])
def test_each_image_comes_with_its_hash_in_order(count):
    made = list(hash_ahead(entries(count), read))
    assert [entry.name for entry, _, _ in made] == [entry.name for entry in entries(count)]
    for _entry, content, digest in made:
        expected = b"" if content is GONE else hashlib.sha256(content).digest()
        assert digest == expected


@pytest.mark.parametrize(
    ("a_read_s", "is_far"),
    [pytest.param(2e-5, False, id="near"), pytest.param(0.1, True, id="far")],
)
def test_files_that_are_far_away_are_read_by_several_threads(a_read_s, is_far):
    threads = set()

    def noted(entry):
        threads.add(threading.current_thread())
        return read(entry)

    ticks = itertools.count()
    made = list(hash_ahead(entries(100), noted, clock=lambda: next(ticks) * 16 * a_read_s))
    assert len(made) == 100
    assert (threads != {threading.current_thread()}) == is_far


CHOSEN = check_settings(
    "original",
    size=None,
    quality=90,
    seed=0,
    shard_bytes=20_000,
    check="quick",
    max_pixels=10**8,
)


@pytest.fixture
def made(photos, tmp_path, monkeypatch):
    """Return a function that lets a pool make two shards with a reader."""
    # The workers look where this process does.
    monkeypatch.syspath_prepend(Path(__file__).parent)
    import odd_readers

    entries = sources.open_source(photos).entries[:20]
    layout = PackLayout(tmp_path / "pack")
    layout.partial.mkdir(parents=True)
    layout.indexes.mkdir()
    lock = os.open(tmp_path, os.O_RDONLY)

    def make(reader, *args, count=2):
        workshop = ShardContext(layout, CHOSEN, getattr(odd_readers, reader)(*args))
        jobs = [
            ShardJob("data-00000-of-00002", entries[:10]),
            ShardJob("data-00001-of-00002", entries[10:]),
        ]
        heard = []
        try:
            make_shards(jobs, workshop, count=count, lock=lock, show=heard.append)
        finally:
            assert not psutil.Process().children()
        return heard

    yield make
    os.close(lock)


def test_a_worker_loads_neither_tensorflow_nor_the_users_program(made, tmp_path):
    made("Tells", str(tmp_path / "modules.json"))
    executable, *modules = json.loads((tmp_path / "modules.json").read_text())
    assert executable == sys.executable
    assert "quickfit.data.packing.workers" in modules
    tops = {name.partition(".")[0] for name in modules}
    assert not tops & {"tensorflow", "keras", "torch", "pytest", "typer", "rich", "pandas"}


def test_a_worker_that_is_killed_is_replaced_and_nothing_counts_twice(made, tmp_path, read_pack):
    heard = made("Dies", "cat/00005.jpg", str(tmp_path / "died"))
    assert (tmp_path / "died").exists()
    assert sum(done.images for done in heard) == 20
    assert len(read_pack(tmp_path / "pack")) == 20


def test_an_image_that_kills_every_worker_is_named(made):
    with pytest.raises(PipelineError, match=r"died twice \(it was ended by SIGKILL\)") as error:
        made("Dies", "cat/00005.jpg")
    assert "at the image 'cat/00005.jpg'" in str(error.value)
    assert "The memory may be too small" in str(error.value)


def test_an_image_that_crashes_a_decoder_is_named_with_the_signal(made):
    with pytest.raises(PipelineError, match=r"died twice \(it was ended by SIGTERM\)") as error:
        made("Dies", "cat/00005.jpg", None, signal.SIGTERM)
    assert "Leave that image out" in str(error.value)


def test_a_mistake_in_a_worker_comes_with_its_traceback(made):
    with pytest.raises(ShardFailedError) as error:
        made("Fails")
    assert "ZeroDivisionError: division by zero" in error.value.failed.traceback


def test_a_worker_that_cannot_start_is_an_error(made, monkeypatch):
    monkeypatch.setattr(pool, "_PROGRAM", "raise SystemExit(3)")
    with pytest.raises(PipelineError, match=r"died twice \(it ended with exit code 3\)"):
        made("Fails")


def test_a_users_files_beside_the_program_hide_no_modules_of_workers(photos, tmp_path):
    (tmp_path / "here").mkdir()
    for name in ("queue", "json", "hashlib", "crc32c", "numpy", "pickle", "PIL"):
        (tmp_path / "here" / f"{name}.py").write_text("raise RuntimeError('of the user')")
    code = (
        "import sys; sys.path.remove(''); import crc32c\n"
        "from quickfit.data import pack; sys.path.insert(0, '')\n"
        f"pack({str(photos)!r}, '../pack', workers=2, shard_bytes=20_000, progress=False)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "here", check=True)
    assert (tmp_path / "pack" / "manifest.json").exists()


def test_the_program_needs_no_guard_for_its_main_module(photos, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from quickfit.data import pack\nprint('once')\n"
        f"pack({str(photos)!r}, 'pack', workers=2, shard_bytes=20_000, progress=False)\n"
    )
    ended = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert ended.stdout == "once\n"


def test_two_workers_leave_no_process_behind(photos, tmp_path):
    pack(photos, tmp_path / "pack", workers=2, shard_bytes=20_000, progress=False)
    assert not psutil.Process().children()
