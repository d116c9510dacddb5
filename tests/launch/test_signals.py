"""Signals are held back, handed out, and told apart."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from quickfit.launch import signals
from quickfit.launch.signals import SignalWatch

from launch.sessions import eventually


@pytest.fixture(params=[True, False], ids=["asked for", "handled"])
def way(request, monkeypatch):
    if request.param and not hasattr(signal, "sigtimedwait"):
        pytest.skip("this system has no sigtimedwait")
    monkeypatch.setattr(signals, "_HAS_TIMED_WAIT", request.param)


@pytest.mark.usefixtures("way")
def test_a_signal_from_another_process_is_held_back_and_handed_out():
    with SignalWatch() as watch:
        os.kill(os.getpid(), signal.SIGTERM)
        arrival = watch.wait(5.0)
        assert arrival is not None
        assert (arrival.number, arrival.is_from_terminal) == (signal.SIGTERM, False)
        assert watch.wait(0.0) is None


@pytest.mark.usefixtures("way")
def test_everything_is_as_before_afterwards_and_nothing_pending_strikes():
    handlers = [signal.getsignal(n) for n in range(1, 32)]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with SignalWatch():
        os.kill(os.getpid(), signal.SIGTERM)
    assert [signal.getsignal(n) for n in range(1, 32)] == handlers
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask


@pytest.mark.usefixtures("way")
def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with SignalWatch() as watch:
            os.kill(os.getpid(), signal.SIGHUP)
            assert watch.wait(0.0) is None
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


STOPPED = """
import signal, sys
from quickfit.launch.signals import SignalWatch
with SignalWatch() as signals:
    print("ready", flush=True)
    print(signals.wait(0.4), flush=True)
    sys.stdin.readline()
    seen = []
    while (arrival := signals.wait(0.0)) is not None:
        seen.append(signal.Signals(arrival.number).name)
    print(seen)
"""
# On x86-64 and on 64-bit ARM: the wait for a signal, and what the process does after it.
SIGTIMEDWAIT, READ = ("128", "137"), ("0", "63")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")
def test_a_process_that_was_stopped_while_it_waited_received_nothing_but_what_was_sent():
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        call = Path(f"/proc/{process.pid}/syscall")
        eventually(lambda: call.read_text().split()[0] in SIGTIMEDWAIT + READ, "it waits")
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)  # its time to wait is over then, whenever it began
        process.send_signal(signal.SIGCONT)
        out, _ = process.communicate("\n")
    assert (process.returncode, out) == (0, "None\n['SIGCONT']\n")
