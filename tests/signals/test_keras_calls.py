"""What samples tell of calls of Keras."""

import pytest

from fit_runs import COMPILE_LINE, SEEN, many_fits, trace
from hand_runs import COMPILED, MAKE_ITERATOR, PREDICT, RESET, TRAIN_ON_BATCH, TRAINER, hand_run
from quickfit.signals.keras_calls import (
    fit_calls,
    metric_samples,
    per_batch_share,
    predict_line,
    predict_samples,
)

from builders import SCRIPT, run

GET_DATA = (TRAINER, "get_data")


def test_samples_inside_predict_are_split_by_what_it_does():
    stacks = [
        ((MAKE_ITERATOR, PREDICT), 12, 6),
        ((COMPILED, PREDICT), 12, 2),
        ((MAKE_ITERATOR, GET_DATA, PREDICT), 12, 1),
        ((), 20, 1),
    ]
    signals = hand_run("custom", stacks=stacks, calls=[("predict", 12, 30, 0.05)])
    line = predict_line(signals)
    assert line is not None
    seen = predict_samples(signals.main_stacks(), line.location)
    assert (seen.total, seen.inside, seen.model, seen.rows) == (10, 9, 2, 1)
    assert seen.rows_share == pytest.approx(1 / 3)


def test_the_first_call_which_compiles_is_left_out():
    signals = hand_run("custom", stacks=[], calls=[("predict", 12, 30, 0.05)])
    row = signals.process.tables["calls"][0]
    row["wall_s"], row["longest_s"] = row["wall_s"] + 1.0, 1.05
    line = predict_line(signals)
    assert line is not None
    assert line.call_s == pytest.approx(0.05)


SOURCE = """\
def train(model):
    for epoch in range(60):
        for images in mini_dataset():
            step(images)
        model.predict(images)

def step(images):
    model.predict(images)
"""


@pytest.mark.parametrize(("line", "calls"), [(5, 60), (4, 120), (8, 120)])
def test_calls_between_two_runs_of_a_loop_are_all_counted(line, calls):
    """Of the steps only half are watched; what is called after them is not in a step."""
    facts = {"body": [SCRIPT, 3, 4]}
    given = {"calls": [("predict", line, 60, 0.05)], "facts": facts, "source": SOURCE}
    signals = hand_run("custom", stacks=[], **given)
    for number, row in enumerate(signals.process.tables["steps"]):
        row["call_s"] = 0.1 if number % 2 else None
    found = predict_line(signals)
    assert found.calls == pytest.approx(calls, abs=1)
    assert found.timed == 60


def test_without_samples_nothing_is_said_to_be_per_batch():
    assert per_batch_share([]) == (0.0, 0)


def test_resetting_metrics_is_a_part_of_train_on_batch():
    stacks = [((COMPILED, TRAIN_ON_BATCH), 30, 3), ((RESET, TRAIN_ON_BATCH), 30, 1)]
    signals = hand_run("train_on_batch", stacks=stacks)
    assert per_batch_share(signals.main_stacks()) == (0.25, 4)


def test_taking_a_tensor_apart_is_reading_it():
    tensor = ("/usr/lib/site-packages/tensorflow/python/framework/tensor.py", "__next__")
    iterator = ("/usr/lib/site-packages/tensorflow/python/data/ops/iterator_ops.py", "__next__")
    signals = hand_run("custom", stacks=[((tensor,), 31, 3), ((iterator,), 30, 5), ((), 32, 1)])
    seen = metric_samples(signals)
    assert (seen.outside, seen.reading) == (4, 3)


def test_the_first_call_is_not_counted_as_repeated():
    calls = fit_calls(many_fits(calls=5, steps=10, traced_s=0.2))
    assert calls is not None
    assert (calls.calls, calls.steps, calls.traced, calls.models) == (5, 10, 4, 1)
    assert calls.setup_s == pytest.approx(4 * 0.05)
    assert calls.traced_share == 1.0
    assert calls.compile is not None
    assert calls.compile.line == COMPILE_LINE


def test_samples_in_fit_and_in_no_step_are_told_apart():
    calls = fit_calls(many_fits(stacks=[*SEEN, ((), 9, 100)]))
    assert calls is not None
    assert (calls.in_fit, calls.samples) == (0.25, 200)


def test_a_function_that_is_traced_again_for_another_shape_is_no_new_one():
    signals = many_fits(calls=5)
    rows = signals.recording.main.tables["traces"]
    rows += [trace(number, 1000.0 + number, 0.1, 77) for number in range(1, 6)]
    calls = fit_calls(signals)
    assert calls is not None
    assert calls.traced == 0


def test_traces_of_the_users_functions_and_nested_ones_do_not_count():
    signals = many_fits(calls=5)
    rows = signals.recording.main.tables["traces"]
    rows.append({**trace(2, 1001.0, 0.1, 5), "file": "train.py"})
    rows.append({**trace(3, 1002.0, 0.1, 6), "nested": 1})
    calls = fit_calls(signals)
    assert calls is not None
    assert calls.traced == 0


def test_a_method_that_was_looked_up_before_leaves_the_setting_up_to_the_samples():
    calls = fit_calls(many_fits(setup_s=0.0, outside_s=0.3))
    assert calls is not None
    # Half of the samples are in `fit` and in no step: of 9.65 s in all, 5.7 s between the calls.
    assert calls.setup_s == pytest.approx(9.65 / 2, rel=0.01)


def test_a_single_fit_is_one_call_without_any_setting_up():
    calls = fit_calls(run())
    assert calls is not None
    assert (calls.calls, calls.setup_s, calls.samples) == (1, 0, 0)


def test_another_kind_of_loop_has_none():
    assert fit_calls(hand_run("custom", stacks=[])) is None
