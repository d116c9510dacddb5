"""A Ctrl-C on a real terminal, a `kill` of quickfit, and what reaches the script."""

import os
import signal
import subprocess
import threading
import time

import pytest

from quickfit.launch import parent, reactions
from quickfit.launch.place import Place
from quickfit.launch.process import ScriptProcess
from quickfit.launch.reactions import (
    GRACE_S,
    TERMINATE_S,
    UNANSWERED_S,
    FirmEnd,
    Forwarder,
    InterruptAnswer,
)
from quickfit.launch.signals import Arrival
from quickfit.launch.target import Target
from quickfit.liveness.rows import NewRows
from quickfit.recording.folder import read_run_file

from launch.sessions import (
    PATIENCE_S,
    QUICKFIT,
    Terminal,
    clean_env,
    eventually,
    newest_run,
    pid_in,
)

CTRL_C, CTRL_BACKSLASH, CTRL_Z = b"\x03", b"\x1c", b"\x1a"
WAITS = "import sys, time\nprint('ready', flush=True)\ntime.sleep(600)\n"
IGNORES = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + WAITS
HANDLES = """
import signal, sys, time
count = 0
def on_interrupt(number, frame):
    global count
    count += 1
signal.signal(signal.SIGINT, on_interrupt)
print('ready', flush=True)
while not count:
    time.sleep(0.01)
end = time.monotonic() + 0.6
while time.monotonic() < end:
    time.sleep(0.01)
print('interrupts:', count)
sys.exit(5)
"""
SAVES_FIRST = """
import sys, time
try:
    print('ready', flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    time.sleep(2.5)
sys.exit(7)
"""
COUNTS = """
import os, signal, sys
seen = []
signal.signal(signal.SIGTERM, lambda *_: seen.append('term'))
signal.signal(signal.SIGUSR1, lambda *_: seen.append('usr1'))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR1])
print(f'pid={os.getpid()}', flush=True)
print(signal.Signals(signal.sigwait([signal.SIGTERM, signal.SIGUSR1])).name, flush=True)
sys.exit(9)
"""


def on_terminal(tmp_path, source):
    (tmp_path / "train.py").write_text(source)
    terminal = Terminal((*QUICKFIT, "run", "train.py"), tmp_path)
    terminal.read_until(b"ready")
    return terminal


def test_ctrl_c_ends_a_script_as_it_does_without_quickfit(tmp_path):
    with on_terminal(tmp_path, WAITS) as terminal:
        terminal.type(CTRL_C)
        assert terminal.end() == -signal.SIGINT
    assert b"Traceback (most recent call last)" in terminal.shown
    assert b"KeyboardInterrupt" in terminal.shown
    assert b"has not reacted" not in terminal.shown
    assert b"quickfit/launch" not in terminal.shown.partition(b"recording in")[2]
    assert read_run_file(newest_run(tmp_path))["signal"] == "SIGINT"


def test_ctrl_c_reaches_a_script_that_handles_it_exactly_once(tmp_path):
    with on_terminal(tmp_path, HANDLES) as terminal:
        terminal.type(CTRL_C)
        assert terminal.end() == 5
    assert b"interrupts: 1" in terminal.shown
    assert b"has not reacted" not in terminal.shown


def test_the_report_of_an_unanswered_ctrl_c_does_not_wait_for_the_script(tmp_path):
    # Two seconds are promised. How long the report itself takes is the machine's affair.
    assert UNANSWERED_S <= 1.0
    with on_terminal(tmp_path, IGNORES) as terminal:
        eventually(lambda: sampled_windows(tmp_path) > 3, "it is seen to stand still")
        terminal.type(CTRL_C)
        shown = terminal.read_until(rb"still waiting for the script; Ctrl-\ ends it at once")
        assert b"\nquickfit: the script has not reacted to Ctrl-C yet" in shown
        terminal.type(CTRL_C)  # no second report
        terminal.type(CTRL_BACKSLASH)
        assert terminal.end() == -signal.SIGQUIT
    assert terminal.shown.count(b"has not reacted") == 1
    last = terminal.shown.splitlines()[-1]
    assert last.startswith(
        b"quickfit: the script was ended by SIGQUIT; its report: quickfit report"
    )


def sampled_windows(tmp_path):
    """Return how many half seconds of stacks are on disk."""
    (file,) = newest_run(tmp_path).glob("*.sqlite")
    rows = NewRows(file).ask("SELECT count(DISTINCT at_s) AS windows FROM samples")
    return rows[0]["windows"] if rows else 0


@pytest.mark.parametrize(
    ("source", "ending"),
    [
        (SAVES_FIRST, 7),
        ("import atexit, time\natexit.register(time.sleep, 2.5)\n" + WAITS, -signal.SIGINT),
    ],
    ids=["it saves first", "its exit handlers take long"],
)
def test_a_script_that_reacts_to_ctrl_c_and_takes_its_time_is_not_said_not_to(
    tmp_path, source, ending
):
    with on_terminal(tmp_path, source) as terminal:
        eventually(lambda: sampled_windows(tmp_path) > 3, "it is seen to stand still")
        terminal.type(CTRL_C)
        assert terminal.end() == ending
    assert b"Ctrl-C" not in terminal.shown
    assert b"verdict" in terminal.shown, "the report comes at the end"


class Reported:
    """Stands for a report, and remembers what was said before it."""

    def __init__(self, monkeypatch):
        self.said = []
        monkeypatch.setattr(reactions, "say", lambda text, **_: self.said.append(text))
        monkeypatch.setattr(reactions.verdict, "print_report", lambda _: self.said.append("report"))


@pytest.mark.parametrize(
    ("reacted", "after_s", "lead"),
    [
        (False, 1.0, "the script has not reacted to Ctrl-C yet"),
        (None, 3.0, "the script still runs 3 s after Ctrl-C"),
        (True, 10.0, "the script still runs 10 s after Ctrl-C"),
    ],
)
def test_what_is_said_of_a_ctrl_c_and_when(tmp_path, monkeypatch, reacted, after_s, lead):
    reported, now = Reported(monkeypatch), [100.0]
    answer = InterruptAnswer(
        Place(tmp_path, tmp_path, {}), reacted=lambda since: reacted, clock=lambda: now[0]
    )
    answer.poll()
    answer.take(Arrival(signal.SIGINT, True, 0))
    while now[0] < 100.0 + after_s - 0.06:
        answer.poll()
        assert (reported.said, answer.is_pending) == ([], True), now
        now[0] += 0.05
    now[0] += 0.2
    answer.poll()
    answer.poll()
    assert reported.said == [
        f"{lead}; this is what was seen so far",
        "report",
        "still waiting for the script; Ctrl-\\ ends it at once",
    ]


def test_ctrl_z_and_fg_stop_and_continue_the_script(tmp_path):
    (tmp_path / "train.py").write_text(
        "print('awa' + 'ke', flush=True)\nprint('rea' + 'dy', input())\n"
    )
    with Terminal(("sh", "-i"), tmp_path) as terminal:
        terminal.type(" ".join([*QUICKFIT, "run", "train.py"]).encode() + b"\n")
        # A Ctrl-Z while the script's process is being made stops it half made, and no shell hears
        # of that: so it is with every program that starts another.
        terminal.read_until(b"awake")
        terminal.type(CTRL_Z)
        terminal.read_until(b"Stopped")
        time.sleep(0.7)  # longer than quickfit waits for a signal at a time
        terminal.type(b"fg\n")
        time.sleep(0.7)  # and than it waits with passing on what was sent to it
        terminal.type(b"steady\n")
        terminal.read_until(b"ready steady")
        terminal.read_until(b"as JSON")
        terminal.type(b"echo ended with $?\n")
        terminal.read_until(b"ended with 0")
    assert b"Traceback" not in terminal.shown


def quickfit_process(tmp_path, source):
    (tmp_path / "train.py").write_text(source)
    return subprocess.Popen(
        (*QUICKFIT, "run", "train.py"),
        cwd=tmp_path,
        env=clean_env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def test_sigterm_to_quickfit_ends_the_script_and_then_quickfit(tmp_path):
    with quickfit_process(tmp_path, WAITS) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == -signal.SIGTERM
    assert read_run_file(newest_run(tmp_path))["signal"] == "SIGTERM"


def test_a_script_may_handle_the_sigterm_that_was_sent_to_quickfit(tmp_path):
    with quickfit_process(tmp_path, COUNTS) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.terminate()
        stdout, _ = process.communicate(timeout=PATIENCE_S)
    assert (stdout, process.returncode) == (b"SIGTERM\n", 9)


def test_a_warning_signal_of_a_job_scheduler_reaches_the_script(tmp_path):
    with quickfit_process(tmp_path, COUNTS) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGUSR1)
        stdout, _ = process.communicate(timeout=PATIENCE_S)
    assert (stdout, process.returncode) == (b"SIGUSR1\n", 9)


def test_a_script_that_signals_its_own_group_gets_the_signal_once(tmp_path):
    source = (
        "import os, signal, time\nseen = []\n"
        "signal.signal(signal.SIGTERM, lambda *_: seen.append(1))\n"
        "os.killpg(os.getpgrp(), signal.SIGTERM)\n"
        "end = time.monotonic() + 0.8\n"
        "while time.monotonic() < end: time.sleep(0.01)\nprint(len(seen))\n"
    )
    with quickfit_process(tmp_path, source) as process:
        stdout, _ = process.communicate(timeout=PATIENCE_S)
    assert (stdout, process.returncode) == (b"1\n", 0)


def test_a_run_that_was_stopped_and_continued_goes_on(tmp_path):
    source = (
        "import signal, time\nseen = []\n"
        "signal.signal(signal.SIGCONT, lambda *_: seen.append(1))\nprint('ready', flush=True)\n"
        "while not seen: time.sleep(0.01)\n"
        "end = time.monotonic() + 0.8\n"
        "while time.monotonic() < end: time.sleep(0.01)\nprint(len(seen))\n"
    )
    with quickfit_process(tmp_path, source) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(0.7)  # longer than quickfit waits for a signal at a time
        os.killpg(process.pid, signal.SIGCONT)
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert (stdout, process.returncode) == (b"1\n", 0)
    assert b"Traceback" not in stderr


def test_a_killed_script_takes_quickfit_with_it_after_the_recording_is_closed(tmp_path):
    with quickfit_process(
        tmp_path, "import os\nprint(f'pid={os.getpid()}', flush=True)\n" + WAITS
    ) as p:
        assert p.stdout is not None
        os.kill(pid_in(p.stdout.readline(), "pid"), signal.SIGKILL)
        _, stderr = p.communicate(timeout=PATIENCE_S)
    assert p.returncode == -signal.SIGKILL
    assert len(stderr.splitlines()) > 1  # a report, or why there is none
    assert b"Traceback" not in stderr
    assert read_run_file(newest_run(tmp_path))["signal"] == "SIGKILL"


# A main thread that waits in C for a lock that its own process holds, as after a fork in threads:
# no line of Python runs any more, so that Python never gets to its handler of SIGINT.
STANDS_IN_C = """
import ctypes, sys, threading
lock = (ctypes.c_char * 64)()
libc = ctypes.CDLL(None)
libc.pthread_mutex_lock(lock)
print('ready', flush=True)
libc.pthread_mutex_lock(lock)
"""


def wait_until_recorded(tmp_path):
    """Wait until the recording shows where the main thread stands."""
    rows = NewRows(next(newest_run(tmp_path).glob("*.sqlite")))
    eventually(lambda: len(rows.ask("SELECT DISTINCT at_s FROM samples")) > 3, "samples")


def test_a_second_sigint_to_quickfit_alone_ends_a_script_that_does_not_react(tmp_path):
    with quickfit_process(tmp_path, STANDS_IN_C) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        wait_until_recorded(tmp_path)
        process.send_signal(signal.SIGINT)
        said = b""
        while b"a second SIGINT ends it" not in said:
            line = process.stderr.readline()
            assert line, said.decode()
            said += line
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=PATIENCE_S)
    assert b"quickfit: the script has not reacted to SIGINT yet" in said
    assert b"quickfit: ending the script, which has not reacted" in rest
    assert process.returncode == -signal.SIGTERM


def test_a_signal_is_passed_on_while_the_recording_is_looked_at(tmp_path, monkeypatch):
    """A look may take many seconds on a busy machine, and the script must not wait for it."""
    looking, is_ended = threading.Event(), threading.Event()

    class SlowLook:
        def __init__(self, *args, **named):
            pass

        def poll(self):
            looking.set()
            assert is_ended.wait(PATIENCE_S), "the signal was not passed on"

    def send():
        assert looking.wait(PATIENCE_S)
        os.kill(os.getpid(), signal.SIGTERM)

    class Noticed(ScriptProcess):
        def poll(self):
            ending = super().poll()
            if ending is not None:
                is_ended.set()
            return ending

    monkeypatch.setattr(parent, "Follower", SlowLook)
    monkeypatch.setattr(parent, "ScriptProcess", Noticed)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(WAITS)
    threading.Thread(target=send).start()
    seen = parent.observe(Target(script="train.py"), output=tmp_path / "run.qfrun")
    assert seen.signal == signal.SIGTERM


class FakeScript:
    """Remembers what it was sent."""

    pid = 2**22 + 1  # above every real process id

    def __init__(self):
        self.sent = []

    def send(self, number):
        self.sent.append(number)


def test_a_script_that_does_not_react_is_killed_when_it_had_time_to_end():
    script, now = FakeScript(), [0.0]
    end = FirmEnd(script, clock=lambda: now[0])
    end.poll()
    end.begin()
    end.begin()
    end.poll()
    assert script.sent == [signal.SIGTERM]
    now[0] = TERMINATE_S
    end.poll()
    end.poll()
    assert script.sent == [signal.SIGTERM, signal.SIGKILL]


def test_only_what_was_sent_to_us_alone_is_passed_on_after_a_grace():
    script, now = FakeScript(), [0.0]
    forwarder = Forwarder(script, clock=lambda: now[0])
    forwarder.take(Arrival(signal.SIGINT, True, 0))
    forwarder.take(Arrival(signal.SIGCHLD, False, 7))
    forwarder.take(Arrival(signal.SIGTERM, False, script.pid))
    forwarder.take(Arrival(signal.SIGTERM, False, 1))
    now[0] = GRACE_S * 0.9
    forwarder.poll()
    assert script.sent == []
    now[0] = GRACE_S
    forwarder.poll()
    forwarder.poll()
    assert script.sent == [signal.SIGTERM]
