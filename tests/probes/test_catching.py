"""What a thread catches is seen, and nothing of the thread changes: on every Python there is."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from launch.sessions import clean_env

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "scripts" / "swallowing.py"
NO_FILE = "[Errno 2] No such file or directory: '/no such folder/file.png'"


def run(*command):
    # Where pyenv stands for Python, it has to be told which one is meant.
    env = clean_env(PYTHONPATH=str(ROOT / "src"), PYENV_VERSION=command[0].removeprefix("python"))
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)


@functools.cache
def seen(python):
    """Return what a Python saw, or why it is not there."""
    try:
        is_there = run(python, "-c", "").returncode == 0
    except OSError:
        is_there = False
    if not is_there:
        return f"there is no {python}"
    done = run(python, str(SCRIPT))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture(params=[sys.executable, "python3.12", "python3.13"], ids=["this", "3.12", "3.13"])
def found(request):
    """Return what a Python saw."""
    told = seen(request.param)
    if isinstance(told, str):
        assert request.param != sys.executable, told  # only another Python may be missing
        pytest.skip(told)
    return told


@pytest.mark.parametrize(
    ("work", "name", "message"),
    [
        ("a_missing_file", "FileNotFoundError", NO_FILE),
        ("deep_inside", "FileNotFoundError", NO_FILE),
        ("suppressed", "KeyError", "'nothing'"),
        ("the_same_again", "ValueError", "made once"),
        ("hostile", "HostileError", "what it was made with"),
        ("a_module", "ModuleNotFoundError", "No module named 'no_such_module'"),
    ],
)
def test_each_exception_is_counted_once_at_the_line_that_catches_it(found, work, name, message):
    assert found[work]["watched"]
    assert found[work]["rows"] == [[name, message, True, 50]]


@pytest.mark.parametrize("work", ["nothing", "imports"])
def test_a_thread_that_catches_nothing_tells_nothing(found, work):
    assert found[work]["watched"]
    assert found[work]["rows"] == []


def test_the_work_of_a_thread_gives_the_same(found):
    assert all(told["same"] for told in found.values() if isinstance(told, dict))


def test_a_thread_may_end_while_it_is_watched_and_the_next_one_is_left_alone(found):
    assert found["ends"] == [1, 0]


def test_a_thread_that_the_script_traces_is_left_alone(found):
    assert found["traced by itself"] == [False, True]


def test_no_thread_is_watched_where_the_script_traces_all(found):
    assert found["traced as all are"][0] is False


def test_an_exception_is_gone_as_soon_as_the_script_lets_go_of_it(found):
    assert found["keeps"] == [50, True]


def test_every_press_of_ctrl_c_reaches_the_main_thread_while_it_is_watched(found):
    assert found["interrupted"] is True


def test_nothing_is_left_behind(found):
    assert found["trace"] is True


def test_the_number_that_the_system_has_for_a_thread_is_known(found):
    assert found["ids"] is True
