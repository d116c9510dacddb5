"""The model of what a change gains."""

import pytest

from quickfit.signals.gains import Work, gain, predicted_step_s


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


def test_beside_a_lighter_input_the_compute_needs_its_cpu_time_at_best():
    worst, likely, best = work(least_compute_s=0.01).with_relief()
    assert (worst.compute_s, likely.compute_s, best.compute_s) == pytest.approx((0.04, 0.02, 0.01))
    assert best.compute_cpu_s == pytest.approx(0.02)


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
    assert work(**given).with_relief()[2].compute_s == pytest.approx(best_s)
