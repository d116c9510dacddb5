"""What is said of a run that gets slower."""

import pytest

from drift_runs import drifting, flat, rising
from quickfit.diagnosis import verdict
from quickfit.diagnosis.engine import diagnose_recording
from quickfit.diagnosis.ranking import without_double_claims
from quickfit.findings import Finding, Gain, Symptom

N = 600


def said(**given):
    return diagnose_recording(drifting(**given).recording)


def test_the_headline_says_how_much_slower_and_by_what():
    diagnosis = said(callbacks=rising(0.0005, 0.02, N))
    assert diagnosis.headline.startswith("slowing down: a step took 12 ms at first and 28 ms")
    assert "98 % of the growth: `Log.on_train_batch_end`" in diagnosis.headline
    assert diagnosis.findings[0].cause == "growing-callback"
    assert diagnosis.notes == ()


def test_while_it_runs_the_headline_says_since_when_that_is_certain():
    signals = drifting(callbacks=rising(0.0005, 0.02, N))
    signals.recording.run = {"exit_code": None, "signal": None}
    assert diagnose_recording(signals.recording).headline.endswith("(certain at step 121)")


def test_what_grows_comes_before_what_is_slow_from_the_first_step_on():
    causes = [f.cause for f in said(input=rising(0.012, 0.04, N)).findings]
    assert causes[0] == "growing-generator"


def test_what_grows_takes_its_seconds_before_what_is_large():
    gains = (Gain(1.2, 1.5, 2.0, ""), Gain(3.0, 4.0, 5.0, ""))
    grows, large = (
        Finding("", None, (), gain, share, ("callbacks",), symptom=symptom)
        for gain, share, symptom in zip(
            gains, (0.6, 0.63), (Symptom.SLOWING_DOWN, Symptom.SLOW), strict=True
        )
    )
    assert without_double_claims([large, grows]) == [grows]


def test_a_run_that_is_slower_by_no_known_cause_is_told_with_what_was_measured():
    diagnosis = said(call=rising(0.010, 0.040, N))
    assert diagnosis.verdict == "inconclusive"
    assert diagnosis.headline.startswith("slower, cause unknown: a step took 13 ms at first")
    assert "the train step 13 ms, then 37 ms" in diagnosis.headline


def test_a_busier_machine_is_said_to_be_the_machine():
    diagnosis = said(slower=lambda step: 2.0 if step > 300 else 1.0)
    assert [f.cause for f in diagnosis.findings] == ["busy-machine"]
    assert "by the machine's load" in diagnosis.headline


def test_longer_batches_are_told_and_nothing_is_wrong():
    grown = {"call": rising(0.010, 0.040, N), "batch_bytes": rising(1000, 4000, N)}
    diagnosis = said(**grown)
    assert diagnosis.findings == ()
    assert any("because the batches grow" in note for note in diagnosis.notes)


@pytest.mark.parametrize("steps", [10, N])
def test_nothing_is_said_of_a_run_that_stays_the_same_or_is_too_short(steps):
    signals = drifting(steps=steps, callbacks=flat(0.001))
    assert verdict.unexplained_slowing(signals) == ""
    assert verdict.notes(signals, []) == ()


def test_a_machine_that_slows_a_run_much_is_the_verdict_where_nothing_else_is_found():
    signals = drifting(slower=lambda step: 2.0 if step > 300 else 1.0)
    assert verdict.unexplained_slowing(signals).startswith("slower by the machine's load")
