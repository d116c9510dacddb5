import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from quickfit.data import pack, sources
from quickfit.data.packing import crew as crew_module
from quickfit.data.packing.crew import Crew, ShardFailedError
from quickfit.data.packing.layout import Layout
from quickfit.data.packing.making import Job, Workshop
from quickfit.data.packing.settings import settings
from quickfit.errors import PipelineError

CHOSEN = settings(
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
    """Return a function that lets a crew make two shards with a reader."""
    # The workers look where this process does.
    monkeypatch.syspath_prepend(Path(__file__).parent)
    import odd_readers

    entries = sources.open(photos).entries[:20]
    layout = Layout(tmp_path / "pack")
    layout.partial.mkdir(parents=True)
    layout.indexes.mkdir()
    lock = os.open(tmp_path, os.O_RDONLY)

    def make(reader, *args, count=2):
        workshop = Workshop(layout, CHOSEN, getattr(odd_readers, reader)(*args))
        jobs = [Job("data-00000-of-00002", entries[:10]), Job("data-00001-of-00002", entries[10:])]
        heard = []
        try:
            Crew(workshop, count=count, lock=lock).make(jobs, heard.append)
        finally:
            assert not psutil.Process().children()
        return heard

    yield make
    os.close(lock)


def test_a_worker_loads_neither_tensorflow_nor_the_users_program(made, tmp_path):
    made("Tells", str(tmp_path / "modules.json"))
    executable, *modules = json.loads((tmp_path / "modules.json").read_text())
    assert executable == sys.executable
    assert "quickfit.data.packing._worker" in modules
    tops = {name.partition(".")[0] for name in modules}
    assert not tops & {"tensorflow", "keras", "torch", "pytest", "typer", "rich", "pandas"}


def test_a_worker_that_is_killed_is_replaced_and_nothing_counts_twice(made, tmp_path, read_pack):
    heard = made("Dies", "cat/00005.jpg", str(tmp_path / "died"))
    assert (tmp_path / "died").exists()
    assert sum(done.images for done in heard) == 20
    assert len(read_pack(tmp_path / "pack")) == 20


def test_an_image_that_kills_every_worker_is_named(made):
    with pytest.raises(PipelineError, match=r"died twice \(SIGKILL\)") as error:
        made("Dies", "cat/00005.jpg")
    assert "at the image 'cat/00005.jpg'" in str(error.value)
    assert "The memory may be too small" in str(error.value)


def test_an_image_that_crashes_a_decoder_is_named_with_the_signal(made):
    with pytest.raises(PipelineError, match=r"died twice \(SIGTERM\)") as error:
        made("Dies", "cat/00005.jpg", None, signal.SIGTERM)
    assert "Leave that image out" in str(error.value)


def test_a_mistake_in_a_worker_comes_with_its_traceback(made):
    with pytest.raises(ShardFailedError) as error:
        made("Fails")
    assert "ZeroDivisionError: division by zero" in error.value.failed.traceback


def test_a_worker_that_cannot_start_is_an_error(made, monkeypatch):
    monkeypatch.setattr(crew_module, "_START", "raise SystemExit(3)")
    with pytest.raises(PipelineError, match=r"died twice \(exit code 3\)"):
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
