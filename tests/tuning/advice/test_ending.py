"""Signals to end are exceptions while something has to be cleaned up."""

import os
import signal

import pytest

from quickfit.tuning.advice.ending import Ended, ended_by_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_an_exception_and_a_second_one_is_ignored(number):
    cleaned = []
    before = signal.getsignal(number)

    def work():
        with ended_by_signals():
            try:
                os.kill(os.getpid(), number)
            finally:
                os.kill(os.getpid(), number)
                cleaned.append(True)

    with pytest.raises(Ended) as caught:
        work()
    assert caught.value.number == number
    assert cleaned
    assert signal.getsignal(number) is before


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by_signals():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_no_except_exception_keeps_it():
    assert not issubclass(Ended, Exception)
