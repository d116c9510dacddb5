"""The model of what a change gains."""

import pytest

from quickfit.errors import SignalMissing
from quickfit.signals._host import HotLine
from quickfit.signals.gains import (
    Work,
    gain,
    is_at_least,
    predicted_step_s,
    share_interval,
    speaks_against,
)

from builders import run


def work(**given):
    values = {
        "step_s": 0.1,
        "compute_s": 0.04,
        "compute_cpu_s": 0.08,
        "input_cpu_s": 0.1,
        "cores": 2.0,
        "free_cores": 2.0,
    }
    return Work(**{**values, **given})


@pytest.mark.parametrize(
    ("given", "input_s", "input_cpu_s", "expected_s"),
    [
        pytest.param({}, 0.01, 0.0, 0.04, id="compute is the limit"),
        pytest.param({}, 0.07, 0.0, 0.07, id="input is the limit"),
        pytest.param({}, 0.05, 0.1, 0.09, id="the cores are the limit"),
        pytest.param({"beside_s": 0.03}, 0.01, 0.0, 0.07, id="callbacks stay"),
        pytest.param({"beside_s": 0.03}, 0.09, 0.0, 0.09, id="input hides callbacks"),
        pytest.param({"is_shared": False}, 0.05, 0.1, 0.05, id="compute leaves the cores free"),
    ],
)
def test_a_step_is_no_shorter_than(given, input_s, input_cpu_s, expected_s):
    step_s = predicted_step_s(work(**given), input_s=input_s, input_cpu_s=input_cpu_s, cores=2.0)
    assert step_s == pytest.approx(expected_s)


def test_beside_others_at_worst_only_what_they_leave_counts():
    assert work(free_cores=0.8).cores_after() == pytest.approx((0.8, 1.4, 2.0))


def test_a_gain_is_sorted_and_never_a_loss():
    found = gain(0.1, (0.2, 0.05, 0.08), "why")
    assert (found.low, found.likely, found.high) == pytest.approx((1.0, 1.25, 2.0))


def test_another_input_does_not_shorten_callbacks():
    signals = run(step_s=0.1, input_wait_s=0.05, callback_s=0.04)
    least_s = [
        predicted_step_s(relieved, input_s=0.0, input_cpu_s=0.0, cores=2.0)
        for relieved in signals.work.with_relief()
    ]
    assert signals.work.beside_s == pytest.approx(0.04)
    assert signals.work.compute_s == pytest.approx(0.01)
    assert min(least_s) > 0.04


def computes(given_work, *, input_cpu_s=0.0):
    return [each.compute_beside(input_cpu_s) for each in given_work.with_relief()]


def test_without_input_the_compute_needs_its_cpu_time_at_best():
    given = work(least_compute_s=0.01)
    assert computes(given) == pytest.approx([0.04, 0.01 * 4**0.25, 0.01])
    best = given.with_relief()[2]
    # Two cores for 10 ms are all the CPU time it can use then.
    assert predicted_step_s(best, input_s=0.0, input_cpu_s=0.0, cores=1.0) == pytest.approx(0.02)


@pytest.mark.parametrize("step_s", [0.04, 0.1])
def test_the_same_input_in_shorter_steps_is_no_relief(step_s):
    given = work(least_compute_s=0.01, step_s=step_s)
    assert computes(given, input_cpu_s=0.1) == pytest.approx([0.04] * 3)


def test_a_lighter_input_still_stretches_the_compute():
    given = work(least_compute_s=0.01, step_s=0.1)
    worst, likely, best = computes(given, input_cpu_s=0.025)
    assert worst == 0.04
    assert 0.01 < best < likely < 0.04
    # The stretch is in proportion to the share of the cores that the input takes then.
    assert best == pytest.approx(0.01 + 0.03 * (0.025 / best) / (0.1 / 0.1))


def test_what_takes_the_place_of_python_leaves_the_lock_to_the_step():
    given = work(least_compute_s=0.01, holds_lock=True)
    assert computes(given, input_cpu_s=0.05) == pytest.approx([0.04, 0.02, 0.01])


@pytest.mark.parametrize(
    ("given", "best_s"),
    [
        pytest.param({"least_compute_s": None}, 0.016, id="unknown"),
        pytest.param({"least_compute_s": 0.0}, 0.008, id="threads still have to be woken"),
        pytest.param({"least_compute_s": 0.9}, 0.04, id="never longer than now"),
        pytest.param({"least_compute_s": 0.01, "is_shared": False}, 0.04, id="cores of its own"),
    ],
)
def test_the_least_compute_is_bounded(given, best_s):
    assert computes(work(**given))[2] == pytest.approx(best_s)


@pytest.mark.parametrize(
    ("share", "samples", "low", "high"),
    [
        pytest.param(0.5, 0, 0.0, 1.0, id="nothing seen says nothing"),
        pytest.param(1.0, 5, 0.56, 1.0, id="five that agree are more than half"),
        pytest.param(0.0, 40, 0.0, 0.09, id="never in forty is less than a tenth"),
        pytest.param(0.5, 10_000, 0.49, 0.51, id="many are sure"),
    ],
)
def test_a_share_of_samples_lies_between(share, samples, low, high):
    assert share_interval(share, samples) == pytest.approx((low, high), abs=0.005)


def test_a_share_is_large_enough_not_or_not_yet_known():
    assert is_at_least(0.1, 0.3, (0.2, 0.4), "samples")
    assert not is_at_least(0.1, 0.05, (0.0, 0.4), "samples")
    with pytest.raises(SignalMissing) as missing:
        is_at_least(0.1, 0.3, (0.05, 0.6), "samples in a save")
    assert missing.value.needs == "more samples in a save: 5% to 60% so far"


def test_samples_speak_against_the_clock_when_it_is_not_chance():
    assert speaks_against(0.0, 40, 0.3, 0.5)
    assert not speaks_against(0.0, 3, 0.3, 0.5)
    assert not speaks_against(0.2, 400, 0.3, 0.5)


@pytest.mark.parametrize(
    ("share", "samples", "is_certain"),
    [(1.0, 1, False), (1.0, 2, True), (0.4, 5, False), (0.6, 5, True), (0.14, 500, True)],
)
def test_a_line_is_certain_when_it_is_more_than_chance(share, samples, is_certain):
    where = run().loop.location
    assert HotLine(where, share, samples).is_certain is is_certain
