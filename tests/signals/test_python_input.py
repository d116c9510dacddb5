"""Python inside a pipeline: its stages, its threads, and whether others keep them from cores."""

import pytest

from quickfit.signals.python_input import (
    function_place,
    generator_stages,
    input_threads,
    is_starved,
    period_s,
    python_maps,
)

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
