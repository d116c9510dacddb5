"""Steps that wait for Python's lock are told from steps that compute."""

import pytest

from quickfit.signals.held import held_s, held_up
from quickfit.signals.input import PyInput, Wait
from quickfit.signals.machine import MachineUse
from quickfit.signals.steps import Step, Steps


def step(number):
    begin_s = 0.01 * number
    return Step(number, 0, begin_s, begin_s + 0.01, 0.01, 0.0095, 0.0, None, None, False)


STEPS = Steps(tuple(step(number) for number in range(30)), 0)


def source(**given):
    values = {"batches": 30, "batch_s": 0.0098, "batch_cpu_s": 0.008, "busy_share": 0.98}
    return PyInput(kind="generator", name="g", location=None, workers=1, **{**values, **given})


def machine(cores, **delays):
    return MachineUse(10.0, cores, 0.1, 0.0, 0.0, None, thread_delays=delays)


def test_a_step_whose_threads_hardly_run_is_held_up():
    # 8 of the 10 ms are the generator's, 1 ms is the step's: the rest of its call it waits.
    assert held_s(source(), machine(0.9), STEPS, 1) == pytest.approx(0.008)


@pytest.mark.parametrize(
    ("given", "use"),
    [
        pytest.param({}, machine(1.9), id="the model runs all the time"),
        pytest.param({"batch_cpu_s": 0.002}, machine(0.4), id="the generator sleeps"),
        pytest.param({"busy_share": 0.5}, machine(0.9), id="the generator rests"),
        pytest.param({}, machine(0.9, main=0.9), id="others have the cores"),
    ],
)
def test_otherwise_it_is_not(given, use):
    assert held_s(source(**given), use, STEPS, 1) == 0.0


def test_the_longer_of_the_two_waits_counts():
    wait = Wait(0.001, 0.1, 30, "measured")
    assert held_up(wait, 0.0005, STEPS) is wait
    held = held_up(wait, 0.006, STEPS)
    assert (held.step_s, held.share) == pytest.approx((0.006, 0.6))
    assert "lock" in held.source
