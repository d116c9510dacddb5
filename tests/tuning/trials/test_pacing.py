"""Blocks are measured without their first moments, and first calls tell what compiling took."""

import pytest

from quickfit.tuning.trials.odometer import Odometer, Pace
from quickfit.tuning.trials.pacing import BlockWatch, Clocks, FirstCalls


class Machine:
    """Calls that take what they are told to, on a clock of their own."""

    def __init__(self, monkeypatch, *, per_call=1, batch=10):
        monkeypatch.setattr("quickfit.tuning.trials.pacing.device_peak_bytes", lambda: 7)
        self.now_s = 100.0
        self.per_call = per_call
        self.count = 0.0
        self.odometer = Odometer(Pace(batch, per_call, None), lambda: self.count)
        self.clocks = Clocks(lambda: self.now_s, lambda: self.now_s / 2)

    def block(self, steps):
        return BlockWatch(steps, self.odometer, self.clocks)

    def call(self, block, took_s, samples):
        self.now_s += took_s
        self.count += samples
        self.odometer.call()
        return block.call(self.per_call)


def test_the_first_moments_do_not_count(monkeypatch):
    machine = Machine(monkeypatch)
    block = machine.block(2)
    assert machine.call(block, 0.06, 10) is None
    assert machine.call(block, 0.06, 10) is None  # 0.12 s: it begins after this one
    assert machine.call(block, 0.02, 10) is None
    found = machine.call(block, 0.03, 10)
    assert (found.steps, found.samples, found.peak_bytes) == (2, 20, 7)
    assert found.wall_s == pytest.approx(0.05)
    assert found.cpu_s == pytest.approx(0.025)


def test_one_slow_call_is_enough_of_a_beginning(monkeypatch):
    machine = Machine(monkeypatch)
    block = machine.block(1)
    assert machine.call(block, 3.0, 10) is None
    assert machine.call(block, 3.0, 10).wall_s == pytest.approx(3.0)


def test_calls_of_several_steps_are_whole(monkeypatch):
    machine = Machine(monkeypatch, per_call=8)
    block = machine.block(10)
    machine.call(block, 0.2, 80)
    assert machine.call(block, 0.1, 80) is None
    assert machine.call(block, 0.1, 80).steps == 16


def test_calls_that_were_cut_short_do_not_make_a_block_too_short(monkeypatch):
    machine = Machine(monkeypatch, per_call=8)
    block = machine.block(16)
    machine.call(block, 0.2, 80)
    assert machine.call(block, 0.1, 80) is None
    assert machine.call(block, 0.1, 20) is None  # an epoch ends after two steps
    machine.odometer.end_epoch()
    machine.count = 0.0
    assert machine.call(block, 0.1, 80).steps == 18


def test_what_compiling_took_is_beyond_a_later_call_and_the_data():
    first = FirstCalls()
    assert not first.call(5.0)
    assert not first.call(0.1)
    assert not first.call(0.1)
    assert first.call(0.3)
    assert first.call_s == 0.1
    assert first.compile_s(0.4) == pytest.approx(4.5)
    assert first.compile_s(10.0) == 0.0


def test_fast_calls_are_seen_some_more_times():
    first = FirstCalls()
    calls = [first.call(0.001) for _ in range(21)]
    assert calls == [False] * 20 + [True]


def test_slow_calls_are_seen_once_more():
    first = FirstCalls()
    assert [first.call(4.0), first.call(4.0)] == [False, True]
