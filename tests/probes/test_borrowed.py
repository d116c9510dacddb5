"""What another thread has looked at ends on the main thread, as it would without the look."""

import threading
import weakref

import pytest

from quickfit.probes import _borrowed
from quickfit.probes._borrowed import Borrowed

MAIN = threading.main_thread().ident


class Iterator:
    """Something that ends when its last reference goes."""


def ended_on(thread, *, by_main=False):
    """Return the thread that ends an iterator of one, which another or the main thread borrowed."""
    owned = [Iterator()]
    ends = []
    watch = weakref.ref(owned[0], lambda _: ends.append(threading.get_ident()))

    def look():
        borrowed = Borrowed(watch())
        owned.clear()  # the script drops its own meanwhile
        borrowed.give_back(thread if thread else threading.get_ident())
        looked.append(threading.get_ident())

    looked = []
    if by_main:
        look()
    else:
        other = threading.Thread(target=look)
        other.start()
        other.join()
    assert len(ends) == 1, "it was not ended at once"
    return ends[0], looked[0]


def test_what_is_of_the_main_thread_ends_there():
    ended, looked = ended_on(MAIN)
    assert looked != MAIN
    assert ended == MAIN


def test_more_than_one_end_there():
    for _ in range(100):
        assert ended_on(MAIN)[0] == MAIN
    assert not _borrowed._returned


def test_those_that_come_before_the_main_thread_has_answered_end_there_too():
    ends = []
    kept = []

    def look():
        for _ in range(50):
            borrowed = Borrowed(Iterator())
            kept.append(weakref.ref(borrowed.value, lambda _: ends.append(threading.get_ident())))
            borrowed.give_back(MAIN)

    other = threading.Thread(target=look)
    other.start()
    other.join()
    assert ends == [MAIN] * 50


@pytest.mark.parametrize("by_main", [False, True], ids=["another thread", "the main thread"])
def test_a_thread_drops_what_is_its_own(by_main):
    ended, looked = ended_on(MAIN if by_main else 0, by_main=by_main)
    assert ended == looked


def test_a_thread_that_cannot_be_asked_is_not():
    ended, looked = ended_on(MAIN + 1)
    assert ended == looked


def test_where_too_many_requests_wait_it_is_dropped_at_once(monkeypatch):
    monkeypatch.setattr(_borrowed, "_ask_main", lambda: lambda: -1)
    ended, looked = ended_on(MAIN)
    assert ended == looked


def test_no_other_reference_is_left_when_the_main_thread_is_asked(monkeypatch):
    gone = []

    def answer():
        _borrowed._returned.clear()  # as the main thread does, before the other goes on
        gone.append(watch() is None)
        return 0

    monkeypatch.setattr(_borrowed, "_ask_main", lambda: answer)
    borrowed = Borrowed(Iterator())
    watch = weakref.ref(borrowed.value)
    other = threading.Thread(target=borrowed.give_back, args=(MAIN,))
    other.start()
    other.join()
    assert gone == [True]


def test_nothing_ends_in_a_forked_child(monkeypatch):
    monkeypatch.setattr(_borrowed, "_kept_in_child", [])
    monkeypatch.setattr(_borrowed, "_ask_main", lambda: lambda: 0)
    borrowed = Borrowed(Iterator())
    watch = weakref.ref(borrowed.value)
    other = threading.Thread(target=borrowed.give_back, args=(MAIN,))
    other.start()
    other.join()
    _borrowed._keep_after_fork()
    assert watch() is not None
    assert not _borrowed._returned
