"""`validation-dominates`: fires when looking at the model takes a third of the time."""

import pytest

from hand_runs import COMPILED, MAKE_ITERATOR, PREDICT
from quickfit.causes.host.callback_batch_slow import detect as detect_slow_callback
from quickfit.causes.host.validation_dominates import detect, fix
from quickfit.findings import FixClass
from validation_runs import (
    LOOK_LINE,
    TEXT,
    VAL_LOOP_LINE,
    by_a_loop,
    by_calls,
    by_fit,
    stacks,
)

from builders import CALLBACK_LINE, FIT_LINE, run, shown_fix

EVERY_FIFTH = "validation_freq=5"


def found(signals):
    finding = detect(signals)
    assert finding is not None
    assert finding.where is not None
    advice = shown_fix("validation-dominates", finding, signals)
    assert advice is not None
    return finding, advice


def test_fires_at_the_fit_with_clock_and_samples():
    finding, _ = found(by_fit(2.0))
    assert finding.where.line == FIT_LINE
    each, between, sampled = finding.evidence
    assert (each.value, between.value) == (pytest.approx(2.0), pytest.approx(2.0))
    assert sampled.value == pytest.approx(0.5)
    assert finding.is_of_whole
    assert finding.claims == ("validation",)
    assert finding.cost_share == pytest.approx(0.5)
    assert finding.gain.likely == pytest.approx(1 / 0.6)


def test_says_whether_it_is_more_than_the_training():
    assert found(by_fit(3.0, sampled=0.6))[0].summary == "validating takes longer than training"
    assert found(by_fit(1.5))[0].summary == "validation takes longer than it is worth"


@pytest.mark.parametrize("loop", ["custom", "train_on_batch"])
def test_fires_at_the_line_that_evaluates(loop):
    finding, _ = found(by_calls(loop=loop))
    assert finding.where.line == LOOK_LINE
    assert finding.claims == ("validation", "looks")


def test_fires_at_the_loop_that_looks():
    assert found(by_a_loop(0.8))[0].where.line == VAL_LOOP_LINE


def test_a_callback_that_evaluates_is_not_reported_as_a_slow_one_too():
    line = CALLBACK_LINE + 1
    given = {"line": line, "base": {"callback_s": 0.05}}
    signals = by_calls(loop="fit", **given)
    assert found(signals)[0].where.line == line
    assert "callbacks" in found(signals)[0].claims
    assert detect_slow_callback(signals) is None


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="no validation"),
        pytest.param(by_fit(0.4, sampled=0.17), id="validation on a fifth of the data"),
        pytest.param(by_fit(2.0, every=5, sampled=0.17), id="validated every fifth epoch"),
        pytest.param(by_fit(2.0, sampled=0.1), id="the samples are elsewhere"),
        pytest.param(by_calls(calls=2), id="once at the start and once at the end"),
        pytest.param(by_calls(facts={"trains": False}), id="nothing is trained"),
        pytest.param(by_calls(seen=stacks(0.1, LOOK_LINE)), id="the line is hardly seen"),
        pytest.param(by_a_loop(0.8, is_seen=False), id="the loop is not seen"),
        pytest.param(
            by_calls("predict", seen=[((MAKE_ITERATOR, PREDICT), LOOK_LINE, 60)]),
            id="predict of a few rows, which is predict-in-loop",
        ),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_predict_for_all_of_the_data_is_a_validation():
    seen = [((COMPILED, PREDICT), LOOK_LINE, 50), ((COMPILED,), FIT_LINE, 50)]
    assert found(by_calls("predict", seen=seen))[0].where.line == LOOK_LINE


class TestFix:
    def test_adds_the_frequency(self):
        advice = found(by_fit())[1]
        assert advice.before == "model.fit(ds, epochs=6, validation_data=val)"
        assert advice.after == "model.fit(ds, epochs=6, validation_data=val, validation_freq=5)"
        assert advice.kind is FixClass.SAME_RESULTS

    @pytest.mark.parametrize("given", ["2", "every"])
    def test_shows_an_example_where_a_frequency_is_given(self, given):
        text = TEXT.replace("val)", f"val, validation_freq={given})")
        advice = found(by_fit(6.0, every=2, text=text))[1]
        assert not advice.before
        assert advice.example.endswith("validation_freq=5)")

    def test_says_when_a_callback_decides_by_it(self):
        signals = by_fit()
        rows = signals.recording.main.tables["callbacks"]
        rows.append({**rows[0], "hook": "on_epoch_end", "name": "EarlyStopping", "position": 1})
        advice = fix(detect(signals), signals)
        assert advice.kind is FixClass.MAY_CHANGE_RESULTS
        assert advice.note.endswith("`EarlyStopping` may then decide otherwise.")

    def test_guards_a_call_between_the_steps(self):
        example = found(by_calls())[1].example
        assert example == "if step % 60 == 0:\n    model.evaluate(val_x, val_y)"

    def test_guards_a_loop_after_the_epoch(self):
        signals = by_a_loop(0.8)
        example = found(signals)[1].example
        assert example.endswith("for x, y in val:\n        test_step(x, y)")
