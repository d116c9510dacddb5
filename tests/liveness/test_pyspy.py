"""The stacks py-spy tells of, and whose files are on them."""

import json
import os
import subprocess
import sys

import pytest

from quickfit.errors import UsageError
from quickfit.liveness import pyspy


def told(*frames, number=7, name="MainThread"):
    rows = [{"name": f, "filename": file, "line": line} for f, file, line in frames]
    return json.dumps([{"pid": 7, "os_thread_id": number, "thread_name": name, "frames": rows}])


def test_names_of_files_are_absolute_and_those_of_functions_plain():
    text = told(
        ("make.<locals>.batches", "train.py", 12),
        ("Model.fit", "/venv/lib/python3.12/site-packages/keras/src/trainer.py", 300),
        ("<module>", "train.py", 30),
    )
    (thread,) = pyspy.parsed(text, "/home/me/project", "/home/me/project")
    assert [frame.function for frame in thread.frames] == ["batches", "fit", "<module>"]
    assert thread.frames[0].file == "/home/me/project/train.py"
    assert [frame.is_user for frame in thread.frames] == [True, False, True]
    assert (thread.number, thread.name) == (7, "MainThread")


@pytest.mark.parametrize(
    ("file", "script", "expected"),
    [
        ("/home/me/train.py", "/home/me", True),
        ("/home/me/lib/helpers.py", "/home/me", True),
        ("/usr/lib/python3.11/threading.py", "/home/me", False),
        ("/usr/lib/python3/dist-packages/numpy/core.py", "/home/me", False),
        ("/venv/lib/python3.12/site-packages/keras/src/x.py", "/home/me", False),
        ("/tmp/ipykernel_71/2384.py", "", True),
        ("<frozen importlib._bootstrap>", "", False),
        ("<stdin>", "", True),
        ("<__array_function__ internals>", "", False),
        ("/tmp/__autograph_generated_file3k.py", "", False),
        ("/opt/python3.11/lib/python3.11/train.py", "/opt/python3.11/lib/python3.11", True),
        (os.path.abspath(pyspy.__file__), "", False),
    ],
)
def test_tells_the_users_files_from_libraries(file, script, expected):
    assert pyspy.is_users(file, script) is expected


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"frames": [{}]}]', "not json"])
def test_an_answer_that_is_not_understood_is_said_so(text):
    if text == "{}":
        assert pyspy.parsed(text, "/", "") == []
        return
    with pytest.raises(pyspy.Failed, match="not known"):
        pyspy.parsed(text, "/", "")


def test_without_the_program_the_message_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="pip install py-spy"):
        pyspy.find()


def test_a_process_that_is_not_python_fails_without_a_backtrace():
    child = subprocess.Popen(["sleep", "60"])
    try:
        with pytest.raises(pyspy.Failed) as failed:
            pyspy.stacks(pyspy.find(), child.pid, "/", "")
    finally:
        child.kill()
        child.wait()
    assert str(failed.value)
    assert "backtrace" not in str(failed.value)
