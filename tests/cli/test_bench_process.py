"""`quickfit bench` as a program: a folder of photographs, and Ctrl-C in the middle."""

import json
import os
import signal
import subprocess
import sys

import pytest

from launch.sessions import PATIENCE_S
from photos import folder

COMMAND = "import sys; from quickfit.cli.bench import bench; bench(sys.argv[1:], seconds={}, {})"


@pytest.mark.tf
@pytest.mark.tf_any
def test_a_folder_of_photographs_is_measured_and_stdout_is_the_answer_alone(tmp_path):
    folder(tmp_path / "photos", {"cat": 12, "dog": 8})
    code = COMMAND.format("'0.5'", "warmup='0.2', size='32', batch=4, as_json=True")
    done = subprocess.run(
        [sys.executable, "-c", code, "photos"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    found = json.loads(done.stdout)
    assert found["name"] == "photos"
    assert found["first_pass"]["examples"] == 20
    assert found["stages"]
    assert "oneDNN custom operations" not in done.stderr


ENDLESS = """
def batches():
    print("begun", flush=True)
    while True:
        yield sum(range(100))
"""


def test_ctrl_c_ends_it_at_once(tmp_path):
    (tmp_path / "loops.py").write_text(ENDLESS)
    code = COMMAND.format("'600'", "")
    running = subprocess.Popen(
        [sys.executable, "-c", code, "loops.py:batches"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    while "begun" not in running.stderr.readline():
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=PATIENCE_S)
    assert out == ""
    assert "KeyboardInterrupt" in err
    assert running.returncode != 0


NOISY = """
import ctypes, os, sys

def batches():
    print("from Python")
    print("past the redirection", file=sys.__stdout__)
    os.system("echo from a child")
    ctypes.CDLL(None).printf(b"from C\\n")
    for number in range(1000):
        yield number
"""
PROGRAM = [sys.executable, "-m", "quickfit", "bench", "loops.py:batches", "--seconds", ".2"]


def ran(tmp_path, **more):
    """Run the command on a noisy function."""
    (tmp_path / "loops.py").write_text(NOISY)
    command = [*PROGRAM, "--warmup", "0", "--json"]
    streams = {"stderr": subprocess.PIPE, **more}
    return subprocess.run(command, cwd=tmp_path, text=True, timeout=PATIENCE_S, **streams)


def test_whatever_prints_stdout_holds_nothing_but_json(tmp_path):
    done = ran(tmp_path, stdout=subprocess.PIPE)
    assert json.loads(done.stdout)["elements"] > 0
    for noise in ("from Python", "past the redirection", "from a child", "from C"):
        assert f"{noise}\n" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_is_told_without_a_traceback(tmp_path):
    with open("/dev/full", "w") as full:
        done = ran(tmp_path, stdout=full)
    assert done.stderr.endswith(
        "quickfit: the answer cannot be written to stdout: No space left on device.\n"
        "Send it somewhere else.\n"
    )
    assert done.returncode == 1


def test_a_closed_stdout_is_told_before_anything_runs(tmp_path):
    done = ran(tmp_path, preexec_fn=lambda: os.close(1))
    assert done.stderr == (
        "quickfit: bench: stdout is closed, so there is nowhere to write the figures to.\n"
    )
    assert done.returncode == 2


def test_without_stderr_the_answer_comes_all_the_same(tmp_path):
    done = ran(tmp_path, stdout=subprocess.PIPE, stderr=None, preexec_fn=lambda: os.close(2))
    assert json.loads(done.stdout)["elements"] > 0
    assert done.returncode == 0
