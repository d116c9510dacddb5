"""Python inside a pipeline: its stages, its threads, and whether others keep them from cores."""

import pytest

from quickfit.signals.input import PyInput, Wait
from quickfit.signals.machine import MachineUse
from quickfit.signals.python_input import (
    function_place,
    generator_stages,
    held_s,
    held_up,
    input_threads,
    is_crowded_out,
    is_starved,
    period_s,
    python_maps,
)
from quickfit.signals.steps import Step, Steps

from builders import GENERATOR_LINE, run


def test_a_generator_and_a_map_that_runs_python_are_told_apart():
    signals = run(generator_s=0.05, runs_python=True)
    (generator,), (mapped,) = generator_stages(signals), python_maps(signals)
    assert generator.kind == "generator"
    assert mapped.kind == "map"
    place = function_place(generator, signals)
    assert place is not None
    assert place.line == GENERATOR_LINE


def test_a_native_pipeline_has_neither():
    signals = run()
    assert generator_stages(signals) == []
    assert python_maps(signals) == []


def test_the_period_counts_the_threads_of_a_stage():
    assert period_s(python_maps(run(runs_python=True, map_s=0.08, parallelism=2.0))) == (
        pytest.approx(0.04, rel=0.05)
    )


def test_threads_are_those_of_the_pipeline_or_all_but_the_main_one():
    assert input_threads(run(input_cores=0.7)).cores == pytest.approx(0.7, rel=0.05)
    assert input_threads(run(cpu_cores=1.1)).cores == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(
    ("others", "input_cores", "starved"), [(0.0, 0.2, False), (1.0, 0.2, True), (1.0, 0.8, False)]
)
def test_a_model_that_uses_most_of_the_cpu_beside_others_starves_its_input(
    others, input_cores, starved
):
    signals = run(cpu_cores=1.0, other_cores=others, input_cores=input_cores)
    assert is_starved(signals) is starved


WAITING = {"step_s": 0.1, "input_wait_s": 0.05}


def test_alone_on_the_machine_a_wait_is_the_inputs_own():
    assert not is_crowded_out(run(**WAITING, map_s=0.04))


def test_beside_others_a_light_input_would_hide_behind_the_model():
    others = {"other_cores": 1.0, "cpu_cores": 1.0, "input_cores": 0.8}
    assert is_crowded_out(run(**WAITING, map_s=0.04, **others))


def test_a_heavy_input_is_the_limit_beside_others_too():
    others = {"other_cores": 1.0, "cpu_cores": 1.0, "input_cores": 0.8}
    assert not is_crowded_out(run(**WAITING, map_s=0.14, **others))


def test_where_the_model_takes_the_cpu_the_input_starves():
    others = {"other_cores": 1.0, "cpu_cores": 1.0, "input_cores": 0.2}
    assert is_crowded_out(run(**WAITING, map_s=0.14, **others))


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
