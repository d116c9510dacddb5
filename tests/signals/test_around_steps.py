"""What saving costs, by the clock and by samples."""

import pytest

from hand_runs import COMPILED, KERAS, MAKE_ITERATOR, PREDICT, hand_run
from quickfit.signals.around_steps import saves, saves_per_step_s, validation
from validation_runs import LOOK_LINE, VAL_LOOP_LINE, by_a_loop, by_calls, by_fit

from builders import FIT_LINE, run

SAVE = (f"{KERAS}/models/model.py", "save")
IMAGE = ("/usr/lib/python3/site-packages/PIL/Image.py", "save")
OTHER = ((COMPILED,), FIT_LINE, 70)


def saving(kind="custom", *, calls=(("save", 8, 20, 0.1),), stacks=None):
    return hand_run(kind, stacks=stacks or [((SAVE,), 8, 30), OTHER], calls=list(calls))


def test_counts_the_calls_of_all_lines_and_names_the_one_that_saves_most():
    seen = saves(saving(calls=[("save", 8, 5, 0.1), ("save", 9, 20, 0.1)]))
    assert seen is not None
    assert seen.count == 25
    assert seen.total_s == pytest.approx(2.5)
    assert seen.share == pytest.approx(0.25, rel=0.01)
    assert seen.location is not None
    assert seen.location.line == 9
    assert (seen.sampled_share, seen.samples) == (0.3, 100)


def test_what_saves_in_the_steps_is_known_per_step():
    assert saves_per_step_s(saving("fit")) == pytest.approx(2.0 / 100, rel=0.01)
    assert saves_per_step_s(run()) == 0.0


def test_saves_nobody_timed_are_known_by_their_samples():
    signals = hand_run("custom", stacks=[((SAVE,), 8, 30), OTHER], call_s=0.05)
    seen = saves(signals)
    assert seen is not None
    assert (seen.count, seen.moments) == (0, 1)
    assert seen.share == pytest.approx(0.3)
    assert seen.free_s == pytest.approx(5.0, rel=0.01)
    assert seen.location is not None
    assert seen.location.line == 8


def test_they_can_take_no_longer_than_the_time_outside_the_step():
    seen = saves(hand_run("custom", stacks=[((SAVE,), 8, 30), OTHER], call_s=0.09))
    assert seen is not None
    assert seen.share == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize(
    "stack", [((IMAGE,), 8, 30), ((), 8, 30)], ids=["an image is saved", "the script's own"]
)
def test_what_writes_no_model_is_no_save(stack):
    assert saves(hand_run("custom", stacks=[stack, OTHER], call_s=0.05)) is None


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
