"""`time-in-validation`: fires when looking at the model takes three tenths of the run."""

import pytest

from quickfit.causes import catalogue
from quickfit.causes.general.time_in_validation import detect
from quickfit.diagnosis.engine import diagnose_recording
from quickfit.findings import FixClass
from quickfit.signals import Signals
from validation_runs import by_fit
from whole_runs import finish, whole_run

from builders import FIT_LINE, SCRIPT

fix = catalogue()["time-in-validation"].fix

EVALUATE_LINE = 12


def evaluated(seconds, **given):
    """Return a `fit` with an `evaluate` after it, of a hundred steps."""
    signals = whole_run(**given)
    made, tables = signals.recording, signals.recording.main.tables
    loop, like, end_s = tables["loops"][0], tables["steps"][-1], made.main.facts["ended_s"]
    row = {**loop, "id": 2, "kind": "evaluate", "file": SCRIPT, "line": EVALUATE_LINE}
    row |= {"entered_s": end_s, "begin_s": end_s, "end_s": end_s + seconds}
    tables["loops"].append({**row, "facts": {"trains": False, "input": "arrays"}})
    each_s = seconds / 100
    for number in range(100):
        times = {"begin_s": end_s + number * each_s, "end_s": end_s + (number + 1) * each_s}
        step = {**like, **times, "loop": 2, "epoch": 1, "step": number + 1}
        tables["steps"].append({**step, "call_s": each_s, "callbacks_s": 0.0})
    made.main.facts["ended_s"] = end_s + seconds
    return Signals(made)


def about(signals, number):
    return signals.about(next(loop for loop in signals.loops if loop.id == number))


def validated(validation_s, **given):
    made = by_fit(validation_s, **given).recording
    finish(made)
    return Signals(made)


def test_fires_at_a_fit_that_validates():
    signals = validated(2.0)
    finding = detect(signals)
    assert finding.where.line == FIT_LINE
    assert finding.summary == "validation takes much of the training"
    share, spent = finding.evidence
    assert spent.value == pytest.approx(12.0)
    # Twelve seconds of 14 of steps, a second of set-up and two before.
    assert share.value == pytest.approx(12 / 29, rel=0.05)
    assert fix(finding, signals).kind == FixClass.SHOW_ONLY


def test_fires_at_an_evaluation_beside_the_training_as_a_share_of_the_run():
    signals = about(evaluated(20.0), 2)
    finding = detect(signals)
    assert finding.where.line == EVALUATE_LINE
    assert finding.summary == "`evaluate` beside the training takes much of the run"
    assert finding.cost_share == pytest.approx(20 / 35.5, rel=0.1)
    assert finding.cost_s == pytest.approx(20.0, rel=0.1)
    assert len(finding.evidence) >= 2


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(whole_run(), id="there is none"),
        pytest.param(validated(0.5), id="it is in proportion"),
        pytest.param(about(evaluated(4.0), 2), id="the evaluation is in proportion"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_stays_silent_about_a_script_that_only_evaluates():
    signals = evaluated(20.0)
    tables = signals.recording.main.tables
    tables["loops"] = tables["loops"][1:]
    tables["steps"] = [row for row in tables["steps"] if row["loop"] == 2]
    tables["epochs"] = []
    assert detect(Signals(signals.recording)) is None


def test_the_diagnosis_leaves_frequent_validation_to_its_own_cause():
    causes = [f.cause for f in diagnose_recording(validated(2.0).recording).findings]
    assert "validation-dominates" in causes
    assert "time-in-validation" not in causes


def test_the_diagnosis_of_the_run_has_the_evaluation_first():
    diagnosis = diagnose_recording(evaluated(20.0).recording)
    assert [f.cause for f in diagnosis.findings] == ["time-in-validation"]
