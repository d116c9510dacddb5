"""A pair: the middle of its turns, and what cannot be compared."""

import pytest

from quickfit.tuning.advice.pairs import Side, longer_s, pair_of
from quickfit.tuning.trials.answers import Block, Ready


def ready(compile_s=0.5):
    return Ready(32, 4096, 0.1, compile_s, 0.01, 1234, 400)


def block(wall_s, samples=320, cpu_s=1.0, peak=500):
    return Block(10, samples, wall_s, cpu_s, peak)


def test_a_turn_that_somebody_disturbed_does_not_decide():
    beside = [(block(1.0), block(0.5)), (block(1.0), block(5.0)), (block(1.0), block(0.5))]
    pair = pair_of(Side(ready()), Side(ready(3.5)), beside)
    assert pair.gain == pytest.approx(2.0)
    assert pair.compile_s == pytest.approx(3.0)
    assert pair.step_s == pytest.approx(0.1)


def test_a_faster_first_call_is_no_negative_cost():
    pair = pair_of(Side(ready(2.0)), Side(ready(1.0)), [(block(1.0), block(1.0))])
    assert pair.compile_s == 0.0


@pytest.mark.parametrize(
    ("before_s", "now_s", "more_s"),
    [(1.0, 5.0, 4.0), (1.0, 1.4, 0.0), (0.1, 0.3, 0.0), (0.1, 0.5, 0.4), (4.0, 5.5, 0.0)],
)
def test_first_calls_that_hardly_differ_are_alike(before_s, now_s, more_s):
    assert longer_s(before_s, now_s) == pytest.approx(more_s)


def test_without_a_turn_together_there_is_no_pair():
    assert pair_of(Side(ready()), Side(ready()), []) is None
    assert pair_of(Side(ready()), Side(), [(block(1.0), block(1.0))]) is None
    assert pair_of(Side(ready()), Side(ready()), [(block(1.0), block(0.0))]) is None


def test_a_clock_that_counts_no_cpu_time_is_no_reason_to_fail():
    pair = pair_of(Side(ready()), Side(ready()), [(block(1.0, cpu_s=0.0), block(1.0))])
    assert pair.cpu == 1.0


def test_the_time_of_a_step_is_that_of_the_last_block():
    side = Side(ready())
    assert side.step_s == 0.01
    side.blocks += [block(1.0), block(2.0)]
    assert side.step_s == 0.2
    assert side.peak_bytes == 500
