"""What validation costs, whoever asks for it."""

import pytest

from hand_runs import COMPILED, MAKE_ITERATOR, PREDICT
from quickfit.signals.validation import validation
from validation_runs import LOOK_LINE, VAL_LOOP_LINE, by_a_loop, by_calls, by_fit

from builders import FIT_LINE, run


def test_fit_validates_after_every_epoch():
    seen = validation(by_fit(2.0))
    assert seen is not None
    assert (seen.way, seen.times, seen.location) == ("epochs", 5, None)
    assert seen.each_s == pytest.approx(2.0)
    assert seen.training_s == pytest.approx(2.0)
    assert seen.share == pytest.approx(0.5)
    assert (seen.sampled_share, seen.samples) == (0.5, 100)


def test_epochs_that_validation_freq_leaves_out_are_training():
    seen = validation(by_fit(4.0, every=2))
    assert seen is not None
    assert seen.times == 2
    assert seen.share == pytest.approx(0.4 * 4 / (0.4 * 4 + 2.0))


def test_the_first_call_of_a_line_which_compiles_is_left_out():
    signals = by_calls()
    row = signals.process.tables["calls"][0]
    row["wall_s"], row["longest_s"] = row["wall_s"] + 3.0, 3.5
    seen = validation(signals)
    assert seen is not None
    assert (seen.way, seen.times) == ("calls", 9)
    assert seen.each_s == pytest.approx(0.5)
    assert seen.share == pytest.approx(9 * 0.5 / 10, rel=0.01)
    assert seen.location is not None
    assert seen.location.line == LOOK_LINE
    assert seen.sampled_share == 0.5


def test_a_loop_that_looks_counts_by_its_runs():
    seen = validation(by_a_loop(0.5, times=6))
    assert seen is not None
    assert (seen.way, seen.times) == ("loop", 5)
    assert seen.each_s == pytest.approx(0.5)
    assert seen.location is not None
    assert seen.location.line == VAL_LOOP_LINE
    assert seen.sampled_share == 0.5


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(((COMPILED, PREDICT), LOOK_LINE, 50), True, id="of many rows"),
        pytest.param(((MAKE_ITERATOR, PREDICT), LOOK_LINE, 50), False, id="of a few rows"),
    ],
)
def test_predict_is_a_validation_only_for_many_rows(given, expected):
    signals = by_calls("predict", seen=[given, ((COMPILED,), FIT_LINE, 50)])
    assert (validation(signals) is not None) is expected


def test_predict_in_every_other_step_is_part_of_the_training():
    stacks = [((COMPILED, PREDICT), LOOK_LINE, 50)]
    assert validation(by_calls("predict", seen=stacks, calls=50)) is None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"kind": "predict", "head": "predict"}, id="that calls predict"),
        pytest.param({"kind": "evaluate"}, id="inside evaluate"),
    ],
)
def test_a_loop_is_no_validation(given):
    signals = by_a_loop(0.5, times=6)
    row = signals.recording.main.tables["loops"][1]
    row["kind"] = given.pop("kind")
    row["facts"] = {**row["facts"], **given}
    assert validation(signals) is None


def test_a_run_that_never_looks_has_none():
    assert validation(run()) is None
    assert validation(by_calls(calls=1)) is None
