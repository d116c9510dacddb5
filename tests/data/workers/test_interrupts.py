import signal
import threading

import pytest

from quickfit.data.workers.interrupts import Interrupts, held_back, let_through


class Scene:
    """A clock, and a main thread that is where the test says."""

    def __init__(self):
        self.now_s = 100.0
        self.place = (1, 2)
        self.interrupts = Interrupts(lambda: self.now_s, lambda: self.place)


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


def test_ctrl_c_is_held_back_only_while_a_process_starts():
    before = held_back()
    assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    let_through(before)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
