"""The first failure of a probe turns it off and is kept; the script never sees it."""

import signal

import pytest

from quickfit.probes import _guard
from quickfit.probes._guard import fail, guarded, guarded_choice
from quickfit.probes._probe import Probe


def test_what_is_observed_runs_and_is_counted(monkeypatch):
    clock = iter([1.0, 1.5, 2.0, 2.25])
    monkeypatch.setattr(_guard.time, "thread_time", lambda: next(clock))
    probe, seen = Probe("stacks"), []
    observe = guarded(probe, lambda *args: seen.append(args))
    assert observe(1, 2) is None
    observe()
    assert seen == [(1, 2), ()]
    assert (probe.calls, probe.cpu_s, probe.is_off) == (2, 0.75, False)


def test_the_first_failure_turns_the_probe_off_and_is_kept():
    probe, calls = Probe("stacks", state="active"), []

    def observe():
        calls.append(True)
        raise KeyError("no such thing")

    watch = guarded(probe, observe)
    watch()
    watch()
    assert len(calls) == 1
    assert (probe.state, probe.is_off) == ("failed", True)
    assert probe.detail.startswith("KeyError: 'no such thing' (observe:")
    assert probe.calls == 1


def test_a_probe_that_was_turned_off_elsewhere_is_not_called():
    probe = Probe("stacks")
    probe.turn_off("off", "used too much")
    guarded(probe, lambda: pytest.fail("called"))()
    assert (probe.state, probe.detail) == ("off", "used too much")


def test_what_a_handler_of_the_script_raises_meanwhile_reaches_the_script():
    class Trainer:
        def stop(self, number, frame):
            raise TimeoutError("too slow")

    def alarm(number, frame):
        raise TimeoutError("too slow")

    probe = Probe("stacks", state="active")
    before = signal.getsignal(signal.SIGUSR1)
    try:
        for handler in (alarm, Trainer().stop):
            signal.signal(signal.SIGUSR1, handler)
            with pytest.raises(TimeoutError):
                guarded(probe, lambda: signal.raise_signal(signal.SIGUSR1))()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not probe.is_off


def test_ctrl_c_while_observing_reaches_the_script():
    def observe():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(Probe("stacks"), observe)()


def test_a_long_error_is_cut():
    probe = Probe("stacks")
    fail(probe, ValueError("x" * 10_000))
    assert len(probe.detail) == 300


def test_a_probe_is_active_when_all_it_needs_is_hooked():
    probe = Probe("fit_loop", needs=("a", "b"))
    probe.mark_active("a")
    assert probe.state == "waiting"
    probe.mark_active("b")
    assert probe.state == "active"


def test_a_failed_probe_does_not_become_active():
    probe = Probe("fit_loop", needs=("a",))
    probe.turn_off("failed", "why")
    probe.mark_active("a")
    assert (probe.state, probe.detail) == ("failed", "why")


def test_a_choice_is_given_until_its_first_failure():
    probe = Probe("turbo", state="active")
    choose = guarded_choice(probe, lambda value: 6 // value)
    assert choose(2) == 3
    assert choose(0) is None
    assert choose(2) is None
    assert probe.detail.startswith("ZeroDivisionError")
    assert probe.cpu_s == 0.0
