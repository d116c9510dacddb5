"""What a step costs besides its examples."""

import pytest

from hand_runs import COMPILED_CALL, GRAPH, NATIVE, TRAINER, hand_run
from quickfit.signals.step_cost import MAX_PYTHON_S, batch_size, fixed_cost, step_cost

FIT = (TRAINER, "fit")
PYTHON = (COMPILED_CALL, FIT)
COMPUTES = (NATIVE, COMPILED_CALL, FIT)


def fit(stacks=(), **facts):
    given = {"input": "arrays", "batch_size": 2, **facts}
    base = {"input_wait_s": 0.0, "callback_s": 0.0, "cpu_cores": 1.2, "steps": 1005}
    base["facts"] = {"samples_native": bool(stacks)}
    told = {"step_s": 0.01, "cpu_s": 0.006, "facts": given, "base": base}
    return hand_run("fit", stacks=[(frames, 5, seen) for frames, seen in stacks], **told)


def test_the_parts_of_a_step_add_up():
    cost = step_cost(fit())
    assert cost.python_s == pytest.approx(0.006)
    assert cost.compute_s == pytest.approx(0.004)
    assert cost.python_s + cost.compute_s + cost.idle_s == pytest.approx(cost.step_s)


def test_the_main_thread_inside_a_compiled_function_is_not_in_python():
    cost = step_cost(fit([(PYTHON, 1), (COMPUTES, 99)]))
    assert cost.python_s == pytest.approx(0.0001, rel=0.05)
    assert cost.python_s + cost.compute_s + cost.idle_s == pytest.approx(cost.step_s)


def test_samples_of_python_do_not_make_more_of_it_than_its_cpu_time():
    assert step_cost(fit([(PYTHON, 99), (COMPUTES, 1)])).python_s == pytest.approx(0.006)


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param((GRAPH, *PYTHON), id="tracing"),
        pytest.param((COMPILED_CALL, (TRAINER, "evaluate"), FIT), id="validation"),
        pytest.param((FIT,), id="an iterator that ends"),
    ],
)
def test_samples_beside_the_steps_say_nothing_of_them(beside):
    cost = step_cost(fit([(PYTHON, 20), (COMPUTES, 80), (beside, 900)]))
    assert cost.python_s == pytest.approx(0.002, rel=0.05)


def test_without_such_samples_a_thread_that_is_busy_for_long_computes():
    cost = fixed_cost(fit())
    assert cost.python_s == MAX_PYTHON_S
    assert cost.python_s + cost.compute_s + cost.idle_s == pytest.approx(cost.step_s)


@pytest.mark.parametrize(
    ("facts", "size"),
    [
        pytest.param({}, 2, id="given to fit"),
        pytest.param({"batch_size": None, "batch": [["input", "float32", [4, 3]]]}, 4, id="seen"),
        pytest.param({"input": "tf.data"}, 32, id="written in the pipeline"),
    ],
)
def test_the_size_of_a_batch_is(facts, size):
    found = batch_size(fit(**facts))
    assert found is not None
    assert found.examples == size


@pytest.mark.parametrize("batch", [None, [], [["input", "float32", [None, 3]]], [["input"]]])
def test_a_size_that_nobody_knows_is_none(batch):
    assert batch_size(fit(batch_size=None, batch=batch)) is None


def test_beside_other_programs_the_share_of_python_is_that_of_a_free_machine():
    signals = fit()
    base = {"input_wait_s": 0.0, "callback_s": 0.0, "cpu_cores": 0.3, "steps": 1005}
    given = {"input": "arrays", "batch_size": 2}
    busy = hand_run(
        "fit", stacks=[], step_s=0.02, cpu_s=0.006, facts=given, base={**base, "delay_share": 0.5}
    )
    assert step_cost(signals).python_share == pytest.approx(0.6, rel=0.02)
    assert step_cost(busy).python_share == pytest.approx(0.6, rel=0.02)
