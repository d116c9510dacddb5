"""One word for what came of a setting, and why."""

import pytest

from fixing.tuned_runs import BATCH64, FAST, SAME, SLOW, XLA, tried
from quickfit.fixing.tuned_rows import NOT_COMPARED, row_of, verdict_of
from quickfit.fixing.tuned_trials import Training, Tried
from quickfit.tuning.advice.result import ChangeVerdict

TRAINING = Training(32, 0.1, 100, 300)


@pytest.mark.parametrize(
    ("found", "verdict", "reason"),
    [
        pytest.param(tried(XLA, *FAST), ChangeVerdict.ADVISED, "", id="faster"),
        pytest.param(
            tried(XLA, *SAME, why="gains less than 1.05×"),
            ChangeVerdict.NO_GAIN,
            "gains less than 1.05×",
            id="as fast",
        ),
        pytest.param(tried(XLA, *SLOW, why="gains less"), ChangeVerdict.SLOWER, "", id="slower"),
        pytest.param(
            tried(XLA, 0.9, why="gains less"), ChangeVerdict.SLOWER, "", id="one slow pair"
        ),
        pytest.param(
            tried(XLA, 1.2, 6.3, why="the time was used up after 2 of 3 pairs"),
            ChangeVerdict.NOT_DECIDED,
            "the time was used up after 2 of 3 pairs",
            id="too few pairs",
        ),
        pytest.param(
            Tried(XLA, why="on already"), ChangeVerdict.NOT_TRIED, "on already", id="left"
        ),
        pytest.param(
            tried(XLA, why="not tried: the time is used up"),
            ChangeVerdict.NOT_TRIED,
            "the time is used up",
            id="no time",
        ),
        pytest.param(
            tried(XLA, why="the edited script ended with exit code 1: ValueError: no"),
            ChangeVerdict.FAILED,
            "the edited script ended with exit code 1: ValueError: no",
            id="failed",
        ),
        pytest.param(
            tried(XLA, *FAST, not_worth="it pays after 9 steps, and you have 3 left"),
            ChangeVerdict.NO_GAIN,
            "it pays after 9 steps, and you have 3 left",
            id="does not pay",
        ),
        pytest.param(
            tried(BATCH64, *FAST, unit="steps"),
            ChangeVerdict.NOT_TRIED,
            NOT_COMPARED,
            id="by steps",
        ),
        pytest.param(
            tried(XLA, *FAST, loss=(0.8, 0.5)),
            ChangeVerdict.LEARNS_LESS,
            "over the first 1,024 samples the mean loss is 0.8, and 0.5 as it is",
            id="learns less",
        ),
    ],
)
def test_a_setting_is(found, verdict, reason):
    assert verdict_of(found) == (verdict, reason)


def test_a_batch_that_learns_less_is_told_about_the_learning_rate():
    assert verdict_of(tried(BATCH64, *FAST, loss=(0.8, 0.5)))[1].endswith(
        "a larger batch takes fewer steps and usually wants a higher learning rate"
    )


def test_a_row_has_all_that_was_seen():
    row = row_of(tried(XLA, *FAST, loss=(0.51, 0.5), compile_s=2.0), TRAINING)
    assert (row.peak_bytes, row.more_bytes, row.cpu, row.compile_s) == (640e6, 40e6, 0.9, 2.0)
    assert row.pays_after == 59
    assert (row.loss.after, row.loss.unchanged) == (0.51, 0.5)
    assert row.setting == {"jit": True}


def test_what_is_not_compiled_longer_has_no_time_of_compiling():
    row = row_of(tried(BATCH64, *FAST, compile_s=2.0), TRAINING)
    assert (row.compile_s, row.pays_after) == (None, 0)


def test_figures_of_other_samples_are_not_shown():
    row = row_of(tried(BATCH64, *FAST, unit="steps"), TRAINING)
    assert (row.gain, row.loss, row.cpu) == (None, None, None)
