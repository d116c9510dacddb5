"""The state of a run, from its folder and the process table alone."""

import json
import os
import time

import pytest

from quickfit.live_page.runs import RunState, clock_text, list_runs, look_at_run


def run_folder(home, name="it.qfrun", *, files=("9999999.sqlite",), age_s=0.0, **facts):
    """Make the folder of a run that was last written to so long ago."""
    folder = home / name
    folder.mkdir()
    facts = {"script": "/home/user/train.py", "started_at": time.time() - age_s, **facts}
    (folder / "run.json").write_text(json.dumps(facts))
    for file in files:
        (folder / file).touch()
    for file in folder.iterdir():
        os.utime(file, (time.time() - age_s, time.time() - age_s))
    return folder


NO_PROCESS = 2**22 + 1  # above the largest number that Linux gives


@pytest.mark.parametrize(
    ("facts", "age_s", "state"),
    [
        pytest.param({"pid": os.getpid()}, 0, RunState.RUNNING, id="its process is there"),
        pytest.param({"pid": NO_PROCESS}, 0, RunState.RUNNING, id="its files grow"),
        pytest.param({"pid": NO_PROCESS}, 60, RunState.GONE, id="killed, and its parent too"),
        pytest.param({"pid": os.getpid()}, 1e6, RunState.GONE, id="another has its number"),
        pytest.param({"ended_at": 1.0, "exit_code": 0}, 60, RunState.ENDED, id="ended"),
        pytest.param({"pid": "1", "started_at": "x"}, 60, RunState.GONE, id="nonsense in it"),
        pytest.param({"pid": os.getpid(), "quiet": []}, 0, RunState.RUNNING, id="never was quiet"),
    ],
)
def test_a_run_is(tmp_path, facts, age_s, state):
    assert look_at_run(run_folder(tmp_path, age_s=age_s, **facts)).state is state


def test_a_run_without_files_is_starting(tmp_path):
    assert look_at_run(run_folder(tmp_path, files=())).state is RunState.STARTING


@pytest.mark.parametrize(
    ("facts", "label"),
    [
        ({"exit_code": 0}, "ended"),
        ({"exit_code": 3}, "ended with exit code 3"),
        ({"exit_code": None, "signal": "SIGKILL"}, "ended by SIGKILL"),
    ],
)
def test_the_end_is_told(tmp_path, facts, label):
    assert look_at_run(run_folder(tmp_path, ended_at=time.time(), **facts)).label == label


def test_the_newest_run_comes_first_and_links_are_left_out(tmp_path):
    run_folder(tmp_path, "a.qfrun", age_s=5)
    run_folder(tmp_path, "b.qfrun", age_s=50)
    (tmp_path / "c.qfrun").symlink_to(tmp_path / "a.qfrun")
    assert [run.name for run in list_runs(tmp_path)] == ["a.qfrun", "b.qfrun"]
    assert list_runs(tmp_path / "nowhere") == []


def test_times_are_a_clock():
    assert [clock_text(s) for s in (0.4, 65, 3725)] == ["0:00", "1:05", "1:02:05"]
