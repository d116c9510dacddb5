"""A child process: started, talked to, paused, ended, and everything it left."""

import gc
import os
import signal
import sys

import psutil
import pytest

from quickfit.lab.child import (
    DEVNULL,
    Child,
    ChildError,
    ChildOptions,
    describe_end,
    python_command,
    read_tail,
)

from launch.sessions import eventually

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
WAITS = "import signal; print('here', flush=True); signal.pause()"
ECHO = """
import sys
from quickfit.lab.child_side import ParentLink
link = ParentLink(int(sys.argv[1]), int(sys.argv[2]))
link.enter("echoing", held=3)
while True:
    link.answer("echo", {"got": link.command()})
"""


def begun(program, tmp_path, **how):
    command = [sys.executable, "-c", program]
    return Child(command, ChildOptions(log=tmp_path / "log.txt", **how))


def said(tmp_path, text="here"):
    eventually(lambda: text in read_tail(tmp_path / "log.txt"), f"it says {text}")


def is_stopped(child):
    return psutil.Process(child.pid).status() == psutil.STATUS_STOPPED


def test_it_is_paused_resumed_and_ended(tmp_path):
    with begun(WAITS, tmp_path) as child:
        said(tmp_path)
        child.pause()
        eventually(lambda: is_stopped(child), "it is stopped")
        child.resume()
        eventually(lambda: not is_stopped(child), "it goes on")
        assert not child.has_ended
        child.pause()
    assert child.poll() == -signal.SIGKILL
    assert not psutil.pid_exists(child.pid)
    assert child.end() == -signal.SIGKILL


def test_a_gentle_end_lets_it_clean_up(tmp_path):
    program = (
        "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('bye', flush=True), sys.exit(7)))\n"
        + WAITS
    )
    with begun(program, tmp_path) as child:
        said(tmp_path)
        child.pause()
        assert child.end(grace_s=20.0) == 7
    said(tmp_path, "bye")


def test_a_deaf_one_is_ended_firmly(tmp_path):
    program = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WAITS
    with begun(program, tmp_path) as child:
        said(tmp_path)
        assert child.end(grace_s=0.1) == -signal.SIGKILL


@pytest.mark.parametrize("leaves_session", [False, True])
def test_what_it_started_ends_with_it(tmp_path, leaves_session):
    program = f"""
import subprocess, sys
how = dict(start_new_session={leaves_session})
child = subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"], **how)
print("started", child.pid, flush=True)
child.wait()
"""
    with begun(program, tmp_path) as child:
        said(tmp_path, "started")
        left = int(read_tail(tmp_path / "log.txt").split()[1])
        assert child.memory_bytes() > 0
    eventually(lambda: not psutil.pid_exists(left), "it is gone")


def test_what_a_child_left_that_is_over_is_ended_too(tmp_path):
    program = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"])
print("started", child.pid, flush=True)
"""
    with begun(program, tmp_path) as child:
        assert child.wait(20.0) == 0
        left = int(read_tail(tmp_path / "log.txt").split()[1])
        assert psutil.pid_exists(left)
    eventually(lambda: not psutil.pid_exists(left), "it is gone")


def test_a_forgotten_one_is_ended(tmp_path):
    child = begun(WAITS, tmp_path)
    pid = child.pid
    del child
    gc.collect()
    assert not psutil.pid_exists(pid)


def test_they_talk(tmp_path):
    with Child(python_command(ECHO), ChildOptions(talks=True)) as child:
        child.send({"do": 1})
        assert child.receive(30.0) == {"kind": "echo", "got": {"do": 1}}
        assert (child.phase, child.facts) == ("echoing", {"held": 3})


@pytest.mark.parametrize(
    ("program", "kind", "text"),
    [
        ("import sys; sys.exit(3)", "ended", "ended with exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", "ended", "was ended by SIGKILL"),
        (
            "import os, sys; os.write(int(sys.argv[2]), b'[1]\\n')",
            "garbled",
            "wrote '[1]' in place",
        ),
        ("import signal; signal.pause()", "silent", "gave no sign of life for 1 s"),
    ],
)
def test_an_answer_that_does_not_come_is_explained(tmp_path, program, kind, text):
    with begun(program, tmp_path, talks=True) as child:
        with pytest.raises(ChildError) as error:
            child.receive(1.0 if kind == "silent" else 30.0)
        assert error.value.kind == kind
        assert error.value.text.startswith(text)
        assert child.has_ended


def test_the_memory_limit_is_its_own(tmp_path):
    program = """
from quickfit.lab.child_side import limit_memory
limit_memory(50_000_000)
try:
    data = bytearray(200_000_000)
except MemoryError:
    print("refused", flush=True)
"""
    with Child(python_command(program), ChildOptions(log=tmp_path / "log.txt")) as child:
        assert child.wait(30.0) == 0
    assert "refused" in read_tail(tmp_path / "log.txt")


def test_only_the_end_of_a_log_is_read(tmp_path):
    program = "print('x' * 3_000_000); print('last')"
    with begun(program, tmp_path) as child:
        child.wait(30.0)
    assert read_tail(tmp_path / "log.txt", 100).endswith("last\n")
    assert len(read_tail(tmp_path / "log.txt", 100)) <= 101


def test_a_program_that_is_not_there_is_an_error_and_leaves_no_descriptor(tmp_path):
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    with pytest.raises(FileNotFoundError):
        Child([str(tmp_path / "gone")], ChildOptions(talks=True, stdout=DEVNULL))
    after = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    assert len(after) == len(before)


def test_ends_have_words():
    assert describe_end(0) == "ended with exit code 0"
    assert describe_end(-15) == "was ended by SIGTERM"
    assert describe_end(None) == "closed its pipe and did not end"


def test_ctrl_c_is_blocked_in_a_child_of_our_group_and_not_in_us():
    program = "import signal, sys; sys.exit(signal.SIGINT in signal.pthread_sigmask(0, ()))"
    command = [sys.executable, "-c", program]
    with Child(command, ChildOptions(own_session=False)) as child:
        assert child.wait(60) == 1
    with Child(command) as child:
        assert child.wait(60) == 0
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
