"""Whose code grows: the clock and the stacks must agree."""

from drift_runs import GENERATOR_LINE, HOST_LINE, SCRIPT, drifting, rising
from quickfit.signals.drift_guilty import guilty

N = 600
BETWEEN = {"between": rising(0.0005, 0.02, N), "kind": "custom"}


def with_frame(signals, number, **changed):
    """Change one frame of the stacks that were seen."""
    frames = signals.process.tables["frames"]
    frames[number - 1] = {**frames[number - 1], **changed}
    return signals


def test_code_between_the_steps_is_the_scripts():
    found = guilty(drifting(**BETWEEN))
    assert (found.kind, found.line.location.line) == ("host", HOST_LINE)


def test_a_generator_that_runs_in_the_loop_is_input():
    signals = with_frame(drifting(**BETWEEN), 4, line=GENERATOR_LINE, function="batches")
    assert guilty(signals).kind == "generator"


def test_a_class_that_hands_out_batches_is_input():
    signals = with_frame(drifting(**BETWEEN), 4, function="__next__")
    assert guilty(signals).kind == "generator"


def test_nobody_is_guilty_where_the_stacks_do_not_agree():
    signals = drifting(**BETWEEN)
    rows = signals.process.tables["samples"]
    signals.process.tables["samples"] = [row for row in rows if row["stack"] != 3]
    assert guilty(signals) is None


def test_predictions_for_a_few_rows_are_a_cause_of_their_own():
    signals = drifting(callbacks=rising(0.0005, 0.02, N))
    call = {"loop": 1, "kind": "predict", "file": SCRIPT, "line": 5, "name": "predict"}
    times = {"calls": N, "wall_s": 6.0, "cpu_s": 6.0, "longest_s": 0.1}
    signals.process.tables["calls"] = [{**call, **times}]
    assert guilty(signals) is None


def test_who_only_waits_for_tensorflow_is_not_guilty():
    signals = drifting(callbacks=rising(0.0005, 0.02, N), sleeps=True)
    stacks = signals.process.tables["stacks"]
    stacks[1] = {**stacks[1], "frames": [6, *stacks[1]["frames"]]}
    assert guilty(signals) is None


def test_no_one_is_guilty_of_a_busy_machine():
    assert guilty(drifting(slower=lambda step: 2.0 if step > 300 else 1.0)) is None
