"""Ctrl-C while the main thread is inside a library that does not hear of it."""

import signal
import subprocess
import sys
import threading

import pytest

from quickfit.data.speed.interrupts import EXIT_CODE, STOPPING, second_ends

# Locking a mutex twice waits without end, in C, without the GIL, and no signal interrupts it. One
# that comes just before it must not raise KeyboardInterrupt, hence the handler.
BLOCKED = """
import ctypes, signal, sys
from quickfit.data.speed.interrupts import second_ends

signal.signal(signal.SIGINT, lambda number, frame: None)
libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(256)
with second_ends():
    libc.pthread_mutex_lock(mutex)
    print("begun", file=sys.stderr, flush=True)
    libc.pthread_mutex_lock(mutex)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a mutex of zeros is one of Linux")
def test_the_first_is_answered_and_the_second_ends_a_process_that_is_blocked():
    running = subprocess.Popen([sys.executable, "-c", BLOCKED], stderr=subprocess.PIPE, text=True)
    try:
        assert running.stderr.readline() == "begun\n"
        running.send_signal(signal.SIGINT)
        assert running.stderr.readline() == f"quickfit: {STOPPING}\n"
        assert running.poll() is None
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == EXIT_CODE == 130
    finally:
        running.kill()
        running.communicate()


def test_where_python_runs_the_first_one_is_enough_and_nothing_is_said(capsys):
    with pytest.raises(KeyboardInterrupt), second_ends():
        signal.raise_signal(signal.SIGINT)
    assert capsys.readouterr().err == ""


def test_afterwards_all_is_as_before():
    before, threads = signal.set_wakeup_fd(-1), threading.active_count()
    signal.set_wakeup_fd(before)
    with second_ends():
        assert threading.active_count() == threads + 1
    assert signal.set_wakeup_fd(before) == before
    assert threading.active_count() == threads


def test_in_another_thread_it_changes_nothing():
    done = []

    def run():
        with second_ends():
            done.append(threading.active_count())

    before = threading.active_count()
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done == [before + 1]


DROPPED = """
from contextlib import suppress
from signal import SIGINT, raise_signal
from quickfit.data.speed.interrupts import second_ends

with second_ends() as check:
    with suppress(KeyboardInterrupt):
        raise_signal(SIGINT)
    try:
        while True:
            check()
    except KeyboardInterrupt:
        print("heard again")
        raise
"""


def test_an_interrupt_that_somebody_dropped_is_raised_again():
    done = subprocess.run([sys.executable, "-c", DROPPED], capture_output=True, text=True)
    assert done.stdout == "heard again\n"
    assert "KeyboardInterrupt" in done.stderr
