"""`quickfit attach PID`: real processes that wait, and every way in which it can fail."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from quickfit.cli import attach as command
from quickfit.errors import UsageError
from quickfit.liveness import attach as looking
from quickfit.liveness import system
from quickfit.liveness.attach import Target

from launch.sessions import eventually

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")

LOCK = """
    import threading, time

    lock, held = threading.Lock(), threading.Event()

    def hold():
        with lock:
            held.set()
            time.sleep(600)

    threading.Thread(target=hold, daemon=True).start()
    held.wait()
    print("ready", flush=True)
    with lock:
        print("never")
"""
GENERATOR = """
    import time

    def batches():
        yield 1
        print("ready", flush=True)
        time.sleep(600)

    for batch in batches():
        pass
"""
PROMPT = """
    print("ready", flush=True)
    name = input()
"""
WORKS = """
    def work(many):
        return sum(i * i for i in range(many))

    print("ready", flush=True)
    while True:
        work(1000)
"""


@pytest.fixture
def start(tmp_path):
    """Start a script that says `ready` and waits in a call; end it afterwards."""
    started = []

    def begin(code, *words, waits_in=()):
        script = tmp_path / "train.py"
        script.write_text(textwrap.dedent(code).lstrip())
        line = [sys.executable, *words] if words else [sys.executable, "train.py"]
        child = subprocess.Popen(
            line, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(child)
        assert child.stdout.readline() == "ready\n"
        if waits_in:
            eventually(
                lambda: _main_waits_in(child.pid) in waits_in and _all_wait(child.pid),
                f"it waits in {waits_in}",
            )
        return child

    yield begin
    for child in started:
        child.kill()
        child.communicate()


def _main_waits_in(pid):
    looked = system.look(pid)
    return looked.process.waits_in if looked is not None else ""


def _all_wait(pid):
    """Tell whether no thread of a process is on its way to where it waits."""
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    return all(file.read_text().rpartition(")")[2].split()[0] == "S" for file in threads)


SLEEP = ("clock_nanosleep", "pselect6", "select")


def attached(child, capsys, duration="0.6s"):
    command.attach(str(child.pid), duration=duration)
    return capsys.readouterr().out


@linux
def test_both_lines_of_a_held_lock_are_told(start, capsys):
    said = attached(start(LOCK, waits_in=("futex",)), capsys)
    assert "that it was looked at: a thread waits for a lock; another one holds it" in said
    assert "(may be held-lock)" in said
    assert "    train.py:13  with lock:\n    train.py:8  time.sleep(600)" in said
    assert said.startswith("process ")
    assert "To watch a run from its start" in said


@linux
def test_a_script_that_waits_for_stdin_is_told(start, capsys):
    said = attached(start(PROMPT, waits_in=("read",)), capsys)
    assert "(waits-for-stdin)" in said
    assert "train.py:2  name = input()" in said


@linux
def test_a_generator_that_sleeps_outside_of_training_is_placed_and_not_explained(start, capsys):
    child = start(GENERATOR, waits_in=SLEEP)
    said = attached(child, capsys)
    assert "it waits at train.py:6, in clock_nanosleep" in said
    assert "0.00 of a core" in said
    assert child.poll() is None


@linux
def test_a_process_that_works_is_not_called_stuck(start, capsys):
    said = attached(start(WORKS), capsys)
    assert "stands still" not in said
    assert "it works" in said or "it moves" in said


@pytest.mark.parametrize("text", ["train.py", "-3", "0", "12x", ""])
def test_what_is_no_number_of_a_process_is_refused(text):
    with pytest.raises(UsageError, match="not the number of a process"):
        command.attach(text)


@linux
def test_a_process_that_is_not_there_is_said_so():
    with pytest.raises(UsageError, match="there is no such process"):
        command.attach(str(2**22 + 12345))


@linux
def test_a_process_that_has_ended_is_said_so():
    child = subprocess.Popen(["true"])
    eventually(lambda: command.state_of(child.pid) == "Z", "it has ended")
    try:
        with pytest.raises(UsageError, match="has ended already"):
            command.attach(str(child.pid))
    finally:
        child.wait()


@linux
def test_a_process_that_is_not_python_is_said_so():
    child = subprocess.Popen(["sleep", "60"])
    try:
        with pytest.raises(UsageError, match=r"not Python \(`sleep 60`\)"):
            command.attach(str(child.pid))
    finally:
        child.kill()
        child.wait()


@linux
def test_a_process_that_is_just_being_started_is_asked_again(monkeypatch):
    lines = iter(["", "", "sleep\x0060\x00"])
    monkeypatch.setattr(
        looking, "text", lambda path: next(lines) if path.endswith("cmdline") else "1 (sleep) S"
    )
    assert looking.target_of(1).command == ("sleep", "60")


@linux
def test_a_process_without_a_command_line_is_called_by_its_name(monkeypatch):
    monkeypatch.setattr(looking, "STARTING_TRY_S", 0.0)
    monkeypatch.setattr(
        looking, "text", lambda path: {"cmdline": ""}.get(path.split("/")[-1], "kworker/0:1\n")
    )
    assert looking.target_of(2).command == ("kworker/0:1",)


@linux
def test_a_process_that_ends_meanwhile_is_said_so(start):
    child = start(PROMPT)
    child.kill()
    child.wait()
    error = command.explained(Target(child.pid, "/", ""), "Error: No such process")
    assert "ended while it was looked at" in str(error)


def test_without_permission_the_exact_commands_are_told():
    target = Target(os.getpid(), "/", "")
    text = str(command.explained(target, "Permission Denied: Try running again"))
    assert f'sudo env "PATH=$PATH" quickfit attach {os.getpid()}' in text
    assert "ptrace_scope=0" in text
    assert "SYS_PTRACE" in text


@linux
def test_a_python_that_is_not_known_is_said_so():
    target = Target(os.getpid(), "/", "")
    text = str(command.explained(target, "Error: unsupported version 3.99"))
    assert "py-spy cannot read this Python (Error: unsupported version 3.99)" in text
    assert "pip install --upgrade py-spy" in text


@linux
def test_of_quickfit_itself_the_script_is_looked_at(start, capsys, tmp_path):
    child = start(
        PROMPT, "-m", "quickfit", "run", "--output", str(tmp_path / "a.qfrun"), "train.py"
    )
    (script,) = system.look(child.pid).below
    eventually(lambda: _main_waits_in(script.pid) == "read", "it waits")
    command.attach(str(child.pid), duration="0.6s")
    said = capsys.readouterr()
    assert f"{child.pid} is quickfit itself; this is its script" in said.err
    assert "train.py:2  name = input()" in said.out
    assert f"process {child.pid}:" not in said.out
    child.stdin.write("x\n")
    child.stdin.flush()
    child.wait()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("python", "-m", "quickfit", "run", "train.py"), True),
        (("/venv/bin/python", "/venv/bin/quickfit", "run", "train.py"), True),
        (("python", "train.py", "quickfit"), False),
        (("python", "-m", "mine"), False),
        ((), False),
    ],
)
def test_tells_quickfit_from_a_script(words, expected):
    assert command.is_quickfit(words) is expected
