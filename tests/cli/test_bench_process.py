"""`quickfit bench` as a program: a folder of photographs, and Ctrl-C in the middle."""

import json
import os
import signal
import subprocess
import sys

import pytest

from photos import folder

COMMAND = "import sys; from quickfit.cli.bench import bench; bench(sys.argv[1:], seconds={}, {})"


@pytest.mark.tf
def test_a_folder_of_photographs_is_measured_and_stdout_is_the_answer_alone(tmp_path):
    folder(tmp_path / "photos", {"cat": 12, "dog": 8})
    code = COMMAND.format("'0.5'", "warmup='0.2', size='32', batch=4, as_json=True")
    done = subprocess.run(
        [sys.executable, "-c", code, "photos"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
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
    out, err = running.communicate(timeout=60)
    assert out == ""
    assert "KeyboardInterrupt" in err
    assert running.returncode != 0
