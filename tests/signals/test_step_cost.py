"""What a step costs besides its examples."""

import pytest

from hand_runs import hand_run
from quickfit.signals.step_cost import batch_size, step_cost


def fit(**facts):
    given = {"input": "arrays", "batch_size": 2, **facts}
    base = {"input_wait_s": 0.0, "callback_s": 0.0, "cpu_cores": 1.2, "steps": 1005}
    return hand_run("fit", stacks=[], step_s=0.01, cpu_s=0.006, facts=given, base=base)


def test_the_parts_of_a_step_add_up():
    cost = step_cost(fit())
    assert cost.python_s == pytest.approx(0.006)
    assert cost.compute_s == pytest.approx(0.004)
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
