"""What of an eager step is Python, and what would be left compiled."""

import pytest

from hand_runs import TF, hand_run
from quickfit.errors import SignalMissing
from quickfit.signals import Signals
from quickfit.signals.compiling import (
    compiled,
    delay_share,
    eager_step,
    is_jit,
    jit_location,
    may_change_shape,
)
from traced_runs import traced_run

from builders import COMPILE_LINE, recording

OPS = {"steps": 10, "ops": 1000, "ops_s": 0.4, "median_s": 1e-4, "heavy_s": 0.2}


def looked(window_s=1.0, **given):
    base = {"eager_ops": OPS, "step_s": 0.1, **given.pop("base", {})}
    told = {"stacks": [], "call_s": 0.09, "cpu_s": 0.08, "wait_s": 0.0, **given}
    signals = hand_run("custom", base=base, **told)
    signals.recording.main.tables["eager_ops"][0]["window_s"] = window_s
    return signals


def test_python_is_what_is_not_inside_operations_and_the_starting_of_them():
    step = eager_step(looked())
    # 90 ms in calls, 40 of them inside operations, of which 100 times 0.1 ms is starting.
    assert step.step_s == pytest.approx(0.1)
    assert step.share == pytest.approx(0.6)
    assert step.busy_share == pytest.approx(0.8)


def test_the_large_operations_and_the_rest_of_the_step_stay():
    worst_s, likely_s, best_s = eager_step(looked()).after_s
    assert worst_s == pytest.approx(0.010 + 0.020 + 0.0003)
    assert best_s < likely_s < worst_s
    gained = eager_step(looked()).gain("why")
    assert gained.low == pytest.approx(0.1 / worst_s)


def test_a_look_at_slower_steps_is_scaled():
    assert eager_step(looked(window_s=2.0)).share > eager_step(looked()).share


def test_a_look_at_shorter_steps_is_scaled_too():
    short, same = eager_step(looked(window_s=0.5)), eager_step(looked())
    assert short.share < same.share
    assert short.after_s[0] > same.after_s[0]


def test_operations_that_seem_large_for_want_of_a_core_are_not_what_stays():
    busy = eager_step(looked(base={"delay_share": 0.5}))
    assert busy.step_s == pytest.approx(0.05)
    # All of the 20 ms of large operations are as long as the thread had no core in operations.
    assert busy.after_s[1] == pytest.approx(0.005 + 0.0001)
    assert busy.after_s[0] == pytest.approx(0.005 + 0.010 + 0.0003)
    assert "waiting for a core left out" in busy.evidence()[1].detail


def test_samples_say_how_much_may_be_large_operations():
    stacks = [(((f"{TF}/util/dispatch.py", "op_dispatch_handler"),), 31, 990)]
    stacks += [(((f"{TF}/ops/gen_math_ops.py", "mat_mul"),), 31, 10)]
    base = {"facts": {"samples_native": True}}
    assert eager_step(looked(stacks=stacks, base=base)).after_s[0] < 0.013


def test_a_prediction_that_begins_the_step_is_no_part_of_what_would_be_compiled():
    calls = [("predict", 12, 100, 0.05)]
    step = eager_step(looked(facts={"head": "predict"}, calls=calls))
    assert step.share == pytest.approx(0.1)  # 40 ms in calls, all of them inside operations
    assert step.after_s[0] > 0.06


def test_python_of_the_script_under_a_tape_stays():
    text = "with tf.GradientTape() as tape:\n    play()\n"
    stacks = [(((f"{TF}/util/dispatch.py", "op_dispatch_handler"),), 2, 70), ((), 2, 30)]
    base = {"facts": {"samples_native": True}}
    step = eager_step(looked(stacks=stacks, source=text, base=base))
    assert step.share == pytest.approx(0.3)
    assert step.after_s[2] > 0.01 + 0.03


def test_only_a_part_of_the_step_may_be_eager():
    step = eager_step(looked(), at_most_s=0.02)
    assert step.share == pytest.approx(0.2)
    assert step.after_s[0] == pytest.approx(0.08 + 0.02 + 0.0003)


def test_a_thread_that_stands_in_line_for_a_core_does_not_wait():
    busy = looked(cpu_s=0.03, base={"delay_share": 0.6})
    assert delay_share(busy) == pytest.approx(0.6)
    assert eager_step(busy).busy_share == pytest.approx(0.9)
    unread = looked(cpu_s=0.03)
    unread.recording.main.tables["machine"] = []
    assert eager_step(unread).busy_share == pytest.approx(0.3)


def sampled(starting, computing):
    """Return an eager loop that nobody looked at, with samples of Python and of an operation."""
    stacks = [
        (((f"{TF}/util/dispatch.py", "op_dispatch_handler"),), 31, starting),
        (((f"{TF}/ops/gen_math_ops.py", "mat_mul"),), 31, computing),
        (((f"{TF}/ops/gen_resource_variable_ops.py", "read_variable_op"),), 31, starting),
    ]
    given = {"step_s": 2.0, "call_s": 2.0, "cpu_s": 1.9, "base": {"steps": 4}}
    return hand_run("custom", stacks=stacks, facts={"eager_loop": True}, **given)


def test_samples_tell_what_is_certain_where_nobody_looked():
    step = eager_step(sampled(10, 20))
    assert step.ops is None
    assert step.share == pytest.approx(0.35, abs=0.02)  # the low end of a half
    assert step.evidence()[0].value == step.share
    low, likely, high = step.after_s
    assert 2.0 > low > likely > high


def test_a_few_samples_of_python_are_no_eager_step():
    with pytest.raises(SignalMissing, match="a look at the operations"):
        eager_step(sampled(1, 20))


def test_a_thread_whose_steps_were_not_asked_is_as_busy_as_the_machine_says():
    signals = looked()
    for row in signals.recording.main.tables["steps"]:
        row["cpu_s"] = None
    assert eager_step(signals).busy_share == pytest.approx(0.1, rel=0.1)
    signals = looked()
    for row in signals.recording.main.tables["steps"]:
        row["cpu_s"] = None
    for row in signals.recording.main.tables["machine"]:
        row["main_cpu_s"] = None
    with pytest.raises(SignalMissing, match="CPU time of the main thread"):
        eager_step(signals)


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
