"""What compiling with XLA took."""

import pytest

from quickfit.signals import Signals
from quickfit.signals.xla import compiled, is_jit, jit_location, may_change_shape
from traced_runs import traced_run

from builders import COMPILE_LINE, recording


def jitted(**facts):
    made = recording(step_s=0.01)
    loop = made.main.tables["loops"][0]
    loop["facts"] |= {"jit_compile": True, **facts}
    loop["end_s"] = made.main.tables["steps"][-1]["end_s"]
    return Signals(made)


def test_the_first_step_is_told_from_those_that_compile_again():
    signals = jitted()
    rows = signals.recording.main.tables["steps"]
    for row in rows[50:53]:
        row["call_s"] += 0.4
    found = compiled(signals)
    assert found is not None
    # The builder's first step takes two seconds longer.
    assert found.first_s == pytest.approx(2.0, rel=0.01)
    assert (found.again, found.again_s) == (3, pytest.approx(1.2))
    assert found.steps == 105
    assert found.expected_s == pytest.approx(rows[-1]["end_s"] - rows[0]["begin_s"])


def test_a_stall_of_a_busy_machine_is_no_compilation():
    signals = jitted()
    for row in signals.recording.main.tables["steps"][50:53]:
        row["call_s"] += 0.15
    found = compiled(signals)
    assert found is not None
    assert found.again == 0


def test_what_is_left_of_a_stopped_training_is_expected():
    signals = jitted(epochs=10, steps=105)
    signals.recording.main.facts["stopped_early"] = True
    found = compiled(signals)
    assert found is not None
    assert found.steps == 1050
    assert found.expected_s == pytest.approx(2.0 + 1050 * 0.01, rel=0.02)
    signals = jitted(epochs=10, steps=None)
    signals.recording.main.facts["stopped_early"] = True
    assert compiled(signals) is None


def test_xla_is_asked_for_in_compile_or_in_a_function():
    signals = jitted()
    assert is_jit(signals)
    where = jit_location(signals)
    assert where is not None
    assert where.line == COMPILE_LINE
    assert not is_jit(jitted(run_eagerly=True))
    assert not is_jit(jitted(jit_compile=False))
    by_hand = traced_run([{"step": 20, "arguments": {"args": [], "jit": True}}])
    assert is_jit(by_hand)
    where = jit_location(by_hand)
    assert where is not None
    assert where.line == 3


@pytest.mark.parametrize(
    ("shape", "may"),
    [([None, 32], False), ([32, 32], False), ([None, None, 8], True), ([None], False)],
)
def test_batches_may_change_where_a_side_is_open(shape, may):
    assert may_change_shape(jitted(batch=[["input", "float32", shape]])) is may
    assert may_change_shape(jitted())
