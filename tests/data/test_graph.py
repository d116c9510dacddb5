"""Calls into Python, and the end of the interpreter."""

import threading

import pytest

from quickfit.data.graph import PythonCalls


class Clock:
    """Time that goes on when somebody sleeps; something may happen then."""

    def __init__(self, happens=lambda now: None):
        self.time = 0.0
        self.happens = happens

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds
        self.happens(self.time)


def test_a_call_returns_what_the_function_returns():
    call = PythonCalls().lasting(lambda a, b: a + b, lambda: None)
    assert call(1, 2) == 3


def test_an_error_of_the_function_is_passed_on_and_counts_as_a_return():
    calls = PythonCalls()
    clock = Clock()
    with pytest.raises(ZeroDivisionError):
        calls.lasting(lambda: 1 / 0, lambda: None)()
    calls.end(clock.now, clock.sleep)
    assert clock.time < 1


def test_the_end_waits_for_a_call_that_has_begun():
    calls = PythonCalls()
    has_begun, may_return = threading.Event(), threading.Event()

    def slow():
        has_begun.set()
        may_return.wait()

    def happens(now):
        if now >= 1:
            may_return.set()
            thread.join()

    thread = threading.Thread(target=calls.lasting(slow, lambda: None))
    thread.start()
    has_begun.wait()
    clock = Clock(happens)
    calls.end(clock.now, clock.sleep)
    assert 1 <= clock.time < 2


def test_the_end_waits_until_nobody_calls_any_more():
    calls = PythonCalls()
    made = []
    call = calls.lasting(lambda: made.append("real"), lambda: made.append("nothing"))
    clock = Clock(lambda now: call() if now < 0.5 else None)
    calls.end(clock.now, clock.sleep)
    assert 0.5 <= clock.time < 1
    assert set(made) == {"nothing"}


def test_a_call_that_never_returns_does_not_keep_the_script():
    calls = PythonCalls()
    has_begun, may_return = threading.Event(), threading.Event()

    def stuck():
        has_begun.set()
        may_return.wait()

    thread = threading.Thread(target=calls.lasting(stuck, lambda: None))
    thread.start()
    has_begun.wait()
    clock = Clock()
    calls.end(clock.now, clock.sleep)
    assert 9 < clock.time < 12
    may_return.set()
    thread.join()


def test_a_pass_ends_with_the_script_and_goes_on_before():
    calls = PythonCalls()
    passes = calls.lasting_passes(lambda: iter("abc"))
    assert list(passes()) == ["a", "b", "c"]
    begun = passes()
    assert next(begun) == "a"
    calls.end()
    assert list(begun) == []
    assert list(passes()) == []
