"""What saving costs, by the clock and by samples."""

import pytest

from hand_runs import COMPILED, KERAS, hand_run
from quickfit.signals.saves import saves, saves_per_step_s

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
