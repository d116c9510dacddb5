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
