"""A trial as the parent handles it, with real processes that need no TensorFlow."""

import json
import time
from pathlib import Path

import psutil
import pytest

from quickfit.lab import script_trial as module
from quickfit.lab.child import family_memory
from quickfit.lab.sandbox.spec import HELD_FILE, UNSAFE_FILE, read
from quickfit.lab.script_trial import last_words, started
from quickfit.launch.target import Target
from trials import tried

from launch.sessions import eventually

WAITS = "import signal\nprint('here', flush=True)\nsignal.pause()\n"
STOPS = """
import os, signal, time
from pathlib import Path
from quickfit.lab.sandbox.spec import VARIABLE, read
scratch = read(os.environ[VARIABLE]).scratch
(Path(scratch) / "held").write_text(repr(time.monotonic()))
os.kill(os.getpid(), signal.SIGSTOP)
print("went on", flush=True)
signal.pause()
"""


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def begun(home, text, **how):
    (home / "train.py").write_text(text)
    return started(Target(script="train.py"), home.with_name("scratch"), cwd=home, **how)


def said(trial, text):
    log = trial.scratch / "stdout.log"
    eventually(lambda: text in log.read_text(), f"it says {text}")


def status(trial):
    return psutil.Process(trial.group).status()


def test_it_is_told_what_to_do(home):
    texts = {str(home / "train.py"): b"pass\n"}
    target = Target(script="train.py", args=("--lr", "1"))
    scratch = home.with_name("scratch")
    (home / "train.py").write_text("")
    with started(target, scratch, cwd=home, texts=texts, results_steps=7, holds=True) as trial:
        spec = read(str(trial.scratch / "trial.json"))
        assert (spec.script, spec.args) == (str(home / "train.py"), ("--lr", "1"))
        assert (spec.results_steps, spec.holds) == (7, True)
        assert Path(spec.files[str(home / "train.py")]).read_bytes() == b"pass\n"


def test_it_is_held_and_let_go_on(home):
    with begun(home, WAITS) as trial:
        said(trial, "here")
        assert trial.is_running
        trial.hold()
        eventually(lambda: status(trial) == psutil.STATUS_STOPPED, "it is stopped")
        assert not trial.is_running
        trial.hold()
        assert len(trial.spans) == 1
        trial.go_on()
        eventually(lambda: status(trial) != psutil.STATUS_STOPPED, "it goes on")
        trial.go_on()
        assert [len(span) for span in trial.spans] == [2, 1]
        assert trial.failure() == ""
    assert [len(span) for span in trial.spans] == [2, 2]
    assert trial.has_ended


def test_when_it_stops_itself_the_time_it_says_ends_its_first_span(home):
    with begun(home, STOPS) as trial:
        eventually(trial.is_held, "it is held")
        assert trial.spans[0][1] == float((trial.scratch / HELD_FILE).read_text())
        trial.go_on()
        said(trial, "went on")


def test_it_is_not_held_before_it_is_really_stopped(home):
    with begun(home, WAITS) as trial:
        said(trial, "here")
        (trial.scratch / HELD_FILE).write_text(repr(time.monotonic()))
        assert not trial.is_held()


def test_a_stopped_trial_can_be_ended(home):
    with begun(home, WAITS) as trial:
        said(trial, "here")
        trial.hold()
        trial.end("because")
        assert trial.failure() == "because"
        trial.end("another reason")
        assert trial.failure() == "because"
        trial.go_on()
        trial.hold()


def test_it_is_ended_when_an_error_leaves_the_block(home):
    with pytest.raises(KeyboardInterrupt), begun(home, WAITS) as trial:
        raise KeyboardInterrupt
    assert trial.has_ended


def test_too_much_memory_ends_it_with_the_amount(home):
    with begun(home, "data = bytearray(60_000_000)\n" + WAITS) as trial:
        said(trial, "here")
        assert not trial.check_memory(8e9)
        assert trial.check_memory(50e6)
        assert trial.failure() == "took 0.1 GB of memory, more than is free"
        assert trial.peak_bytes > 50e6


def test_memory_of_what_it_started_counts(home):
    text = """
import subprocess, sys
code = "data = bytearray(80_000_000); print('here', flush=True); import signal; signal.pause()"
child = subprocess.Popen([sys.executable, "-S", "-c", code])
child.wait()
"""
    with begun(home, text) as trial:
        said(trial, "here")
        assert family_memory(trial.keeper.pid) > 80e6
    assert family_memory(trial.keeper.pid) == 0


def test_nothing_is_recorded_of_a_script_without_steps(home):
    with begun(home, WAITS) as trial:
        said(trial, "here")
        assert trial.steps() == 0


def test_a_refusal_in_a_process_of_the_script_is_one_of_the_trial(home):
    with begun(home, WAITS) as trial:
        said(trial, "here")
        facts = {"what": "writes", "path": str(home / "model.keras")}
        (trial.scratch / UNSAFE_FILE).write_text(json.dumps(facts))
        assert trial.failure() == "cannot be tried safely: the script writes model.keras"
        facts |= {"path": "/elsewhere/x", "file": "/a/tool.py", "line": "8"}
        (trial.scratch / UNSAFE_FILE).write_text(json.dumps(facts))
        assert trial.failure() == "cannot be tried safely: tool.py:8 writes /elsewhere/x"
        (trial.scratch / UNSAFE_FILE).write_text("{")
        assert trial.failure().endswith("it writes to a file that is there already")


def test_a_write_that_the_kernel_refused_is_said_with_the_users_line(home):
    text = """
import sys

def save():
    raise PermissionError(13, "Permission denied: 'x.db'")

save()
"""
    assert tried(home, text).failure == (
        "cannot be tried safely: train.py:5 writes to a file outside:"
        " PermissionError: [Errno 13] Permission denied: 'x.db'"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("one\ntwo\n", "two"),
        ("Traceback\nValueError: bad\n", "ValueError: bad"),
        ("ValueError: bad\nI1104 12:00 later\nbye\n", "ValueError: bad"),
        ("keras.errors.SomeError: x\nwarn\n", "keras.errors.SomeError: x"),
        ("W1104 12:00 log\n", ""),
        ("/a/keras/x.py:5: UserWarning: Your class should\n  self.data = adapter(\n", ""),
        ('Traceback\n  File "x.py", line 1\n    f()\nKeyboardInterrupt\n', "KeyboardInterrupt"),
        ("x" * 1000, "x" * 300),
    ],
)
def test_the_last_words_are_the_error_and_not_a_log(tmp_path, text, words):
    log = tmp_path / "stderr.log"
    log.write_text(text)
    assert last_words(log) == words


def test_a_log_that_is_not_there_or_no_text_is_no_error(tmp_path):
    assert last_words(tmp_path / "gone.log") == ""
    (tmp_path / "x.log").write_bytes(b"\xff\xfe bad")
    assert last_words(tmp_path / "x.log").endswith("bad")


def test_the_script_does_not_see_the_terminal(home):
    text = "import sys\nprint(sys.stdin.isatty(), sys.stdout.isatty())"
    assert tried(home, text).out == "False False\n"


def test_the_runner_is_part_of_the_package():
    assert module.RUNNER.is_file()
