"""Ctrl-C while the main thread is inside a library that does not hear of it."""

import signal
import subprocess
import sys
import threading

import pytest

from quickfit.data.interrupts import (
    EXIT_CODE,
    STOPPING,
    UnnoticedInterrupts,
    second_interrupt_ends,
)

from launch.sessions import PATIENCE_S

# Locking a mutex twice waits without end, in C, without the GIL, and no signal interrupts it. One
# that comes just before it must not raise KeyboardInterrupt, hence the handler.
BLOCKED = """
import ctypes, signal, sys
from quickfit.data.interrupts import second_interrupt_ends as second_ends

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
        assert running.wait(timeout=PATIENCE_S) == EXIT_CODE == 130
    finally:
        running.kill()
        running.communicate()


def test_where_python_runs_the_first_one_is_enough_and_nothing_is_said(capsys):
    with pytest.raises(KeyboardInterrupt), second_interrupt_ends():
        signal.raise_signal(signal.SIGINT)
    assert capsys.readouterr().err == ""


def test_afterwards_all_is_as_before():
    before, threads = signal.set_wakeup_fd(-1), threading.active_count()
    signal.set_wakeup_fd(before)
    with second_interrupt_ends():
        assert threading.active_count() == threads + 1
    assert signal.set_wakeup_fd(before) == before
    assert threading.active_count() == threads


def test_in_another_thread_it_changes_nothing():
    done = []

    def run():
        with second_interrupt_ends():
            done.append(threading.active_count())

    before = threading.active_count()
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done == [before + 1]


DROPPED = """
from contextlib import suppress
from signal import SIGINT, raise_signal
from quickfit.data.interrupts import second_interrupt_ends as second_ends

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


class Scene:
    """A clock, and a main thread that is where the test says."""

    def __init__(self):
        self.now_s = 100.0
        self.place = (1, 2)
        self.interrupts = UnnoticedInterrupts(lambda: self.now_s, lambda: self.place)


@pytest.fixture
def scene():
    """Return a scene in which nothing has happened."""
    return Scene()


def elsewhere(call):
    """Call in a thread that is not the main one, as TensorFlow does; return the result."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(call()))
    thread.start()
    thread.join()
    return answers[0]


def test_who_cannot_notice_is_told_once_and_stopped_at_the_second(scene, capfd):
    interrupts = scene.interrupts

    def pressed_twice():
        heard = [interrupts.hear(scene.now_s), interrupts.hear(scene.now_s)]  # from two workers
        assert interrupts.is_waiting
        interrupts.settle()
        assert capfd.readouterr().err == ""  # Python may still notice by itself
        scene.now_s += 1
        interrupts.settle()
        return [*heard, interrupts.hear(scene.now_s)]

    assert elsewhere(pressed_twice) == [False, False, True]
    assert (
        "Press it again to stop now (a script then sees a RuntimeError)" in capfd.readouterr().err
    )
    assert not interrupts.is_waiting


def test_a_main_thread_that_moved_has_noticed(scene, capfd):
    elsewhere(lambda: scene.interrupts.hear(scene.now_s))
    scene.now_s += 1
    scene.place = (1, 8)
    elsewhere(scene.interrupts.settle)
    assert capfd.readouterr().err == ""
    assert not scene.interrupts.is_waiting


def test_what_was_pressed_long_ago_does_not_count(scene):
    interrupts = scene.interrupts
    assert not elsewhere(lambda: interrupts.hear(scene.now_s - 60))
    assert not interrupts.is_waiting


def test_the_main_thread_needs_no_help(scene):
    interrupts = scene.interrupts
    assert not interrupts.hear(scene.now_s)
    assert not interrupts.is_waiting


def test_a_handler_of_the_users_own_is_respected(scene):
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        interrupts = scene.interrupts
        elsewhere(lambda: interrupts.hear(scene.now_s))
        assert not interrupts.is_waiting
    finally:
        signal.signal(signal.SIGINT, before)
