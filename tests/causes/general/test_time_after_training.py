"""`time-after-training`: fires when the script works on for long after its training."""

import pytest

from hand_runs import KERAS
from quickfit.causes import catalogue
from quickfit.causes.general.time_after_training import detect
from quickfit.diagnosis.engine import diagnose_recording
from quickfit.findings import FixClass
from validation_runs import EVALUATE
from whole_runs import SAVE, Seen, whole_run

fix = catalogue()["time-after-training"].fix

RANK_LINE = 15
MODEL_CALL = (f"{KERAS}/layers/layer.py", "__call__", 800)
IN_EVALUATE = ((*EVALUATE, 500),)


def test_fires_at_the_line_that_takes_most():
    signals = whole_run(after=(Seen(1.0, RANK_LINE + 1), Seen(6.0, RANK_LINE)))
    finding = detect(signals)
    assert finding.where.line == RANK_LINE
    share, spent, line = finding.evidence
    # Two seconds before the call of `fit`, 13.5 in it, and seven after.
    assert share.value == pytest.approx(7 / 22.5, rel=0.05)
    assert spent.value == pytest.approx(7.0, rel=0.05)
    assert line.value == pytest.approx(6 / 7, rel=0.1)
    assert finding.gain.high == pytest.approx(1 / (1 - 7 / 22.5), rel=0.05)
    assert fix(finding, signals).kind == FixClass.SHOW_ONLY


@pytest.mark.parametrize(
    ("after", "given"),
    [
        pytest.param((), {}, id="nothing"),
        pytest.param((Seen(1.5, RANK_LINE),), {"steps": 6}, id="next to nothing"),
        pytest.param((Seen(4.0, RANK_LINE),), {"step_s": 1.0}, id="less than a tenth"),
        pytest.param((Seen(6.0, RANK_LINE, IN_EVALUATE),), {}, id="an evaluation"),
        pytest.param((Seen(6.0, RANK_LINE, (SAVE,)),), {}, id="a save, which has its own cause"),
    ],
)
def test_stays_silent_when_there_is(after, given):
    assert detect(whole_run(after=after, **given)) is None


def test_the_diagnosis_of_the_run_has_it_first():
    diagnosis = diagnose_recording(whole_run(after=(Seen(6.0, RANK_LINE),)).recording)
    assert [f.cause for f in diagnosis.findings] == ["time-after-training"]


LOOP_TEXT = """\
model.fit(x, y)
for row in rows:
    z = model(row)
    score = rank(z)
model(rows)
"""


@pytest.mark.parametrize(
    ("line", "spent_s"),
    [
        pytest.param(3, 10.0, id="in the loop of the Python"),
        pytest.param(5, 4.0, id="by itself"),
    ],
)
def test_calls_of_the_model_in_the_same_loop_count(line, spent_s):
    signals = whole_run(after=(Seen(4.0, 4), Seen(6.0, line, (MODEL_CALL,))))
    signals.source_text = lambda file: LOOP_TEXT
    finding = detect(signals)
    assert finding.cost_s == pytest.approx(spent_s, rel=0.05)
    assert finding.where.line == (3 if line == 3 else 4)


def test_calls_of_the_model_alone_are_no_overhead():
    signals = whole_run(after=(Seen(0.5, 4), Seen(6.0, 3, (MODEL_CALL,))))
    signals.source_text = lambda file: LOOP_TEXT
    assert detect(signals) is None
