"""`time-in-saving`: fires when writing models takes a share of the run."""

import pytest

from hand_runs import COMPILED, hand_run
from quickfit.causes import catalogue
from quickfit.causes.general.time_in_saving import detect
from quickfit.diagnosis.engine import diagnose_recording
from quickfit.findings import FixClass
from whole_runs import SAVE, Seen, whole_run

from builders import FIT_LINE

fix = catalogue()["time-in-saving"].fix

SAVE_LINE = 15
SAVED = Seen(6.0, SAVE_LINE, (SAVE,))


def test_fires_at_a_save_after_the_training():
    signals = whole_run(after=(SAVED,))
    finding = detect(signals)
    assert finding.where.line == SAVE_LINE
    share, spent = finding.evidence
    assert share.value == pytest.approx(6 / 21.5, rel=0.05)
    assert spent.value == pytest.approx(6.0, rel=0.05)
    assert finding.claims == ("saving",)
    assert fix(finding, signals).kind == FixClass.SHOW_ONLY


def test_fires_at_a_loop_that_does_nothing_but_save():
    signals = hand_run(
        "custom",
        stacks=[((SAVE[:2],), SAVE_LINE, 100)],
        call_s=0.095,
        head_line=SAVE_LINE,
        facts={"trains": False, "head": "save"},
        calls=[("save", SAVE_LINE, 105, 0.095)],
    )
    finding = detect(signals)
    assert finding.where.line == SAVE_LINE
    assert finding.claims == ("saving",)
    assert finding.cost_s == pytest.approx(105 * 0.095, rel=0.01)
    assert len(finding.evidence) == 3


@pytest.mark.parametrize(
    ("after", "given"),
    [
        pytest.param((), {}, id="nothing is saved"),
        pytest.param((Seen(1.5, SAVE_LINE, (SAVE,)),), {"steps": 6}, id="it is short"),
        pytest.param((SAVED,), {"step_s": 1.0}, id="it is less than a tenth"),
    ],
)
def test_stays_silent_when(after, given):
    assert detect(whole_run(after=after, **given)) is None


def test_the_diagnosis_leaves_frequent_checkpoints_to_their_own_cause():
    signals = hand_run(
        "custom",
        stacks=[((SAVE[:2],), SAVE_LINE, 40), ((COMPILED,), FIT_LINE, 60)],
        calls=[("save", SAVE_LINE, 20, 0.2)],
        call_s=0.06,
        head_line=FIT_LINE,
    )
    assert detect(signals) is not None
    causes = [f.cause for f in diagnose_recording(signals.recording).findings]
    assert "checkpoint-too-often" in causes
    assert "time-in-saving" not in causes


def test_the_diagnosis_of_the_run_has_it_once():
    diagnosis = diagnose_recording(whole_run(after=(SAVED,)).recording)
    assert [f.cause for f in diagnosis.findings] == ["time-in-saving"]
