"""Whose code grows: the clock and the stacks must agree."""

from drift_runs import GENERATOR_LINE, GROWN_LINE, HOST_LINE, SCRIPT, drifting, flat, rising
from quickfit.signals.drift_places import (
    grown_input_line,
    grown_line,
    guilty,
    in_batch_hook,
    in_host_code,
    in_model,
    in_tensorflow,
)
from quickfit.signals.stacks import Frame

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


LAYER = Frame("/usr/lib/python3.11/site-packages/keras/src/layers/layer.py", 1, "__call__", False)
USER = Frame(SCRIPT, HOST_LINE, "<module>", True)


def test_the_line_of_the_callback_that_grows_is_found():
    line = grown_line(drifting(callbacks=rising(0.001, 0.02, 600)), in_batch_hook)
    assert line.location.line == GROWN_LINE
    assert line.last_s > 3 * line.first_s


def test_a_large_line_that_stays_the_same_is_not_it():
    signals = drifting(kind="custom", between=rising(0.001, 0.01, 600), call=flat(0.05))
    line = grown_line(signals, lambda frames: True)
    assert line.location.line == HOST_LINE


def test_the_line_of_the_input_is_found_on_its_threads():
    line = grown_input_line(drifting(input=rising(0.005, 0.04, 600)))
    assert line.location.line == GENERATOR_LINE


def test_nothing_that_grows_is_no_line():
    assert grown_line(drifting(), in_batch_hook) is None


def test_a_model_that_computes_is_not_code_of_the_script():
    assert in_model((LAYER, USER))
    assert not in_host_code((LAYER, USER))
    assert in_host_code((USER,))
    assert not in_model((USER, LAYER))


def test_tensorflow_below_the_users_line_is_seen():
    assert in_tensorflow((LAYER, USER))
    assert not in_tensorflow((USER, LAYER))
