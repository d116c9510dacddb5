"""`time-before-training`: fires when the script prepares for long before `fit`."""

import pytest

from quickfit.causes.general.time_before_training import detect, fix
from quickfit.diagnosis.engine import diagnose_recording
from quickfit.findings import FixClass
from quickfit.signals import Signals
from whole_runs import IMPORT, Seen, whole_run

from builders import HOT_LINE

IMPORTS = Seen(4.0, 1, (IMPORT,))


def test_fires_at_the_line_that_takes_most():
    signals = whole_run(before=(IMPORTS, Seen(8.0, HOT_LINE)))
    finding = detect(signals)
    assert finding.where.line == HOT_LINE
    share, spent, line = finding.evidence
    # Twelve seconds before the call of `fit`, and 13.5 in it.
    assert share.value == pytest.approx(8 / 25.5, rel=0.1)
    assert spent.value == pytest.approx(8.0, rel=0.1)
    assert line.value == pytest.approx(1.0)
    assert finding.cost_s == pytest.approx(8.0, rel=0.1)
    assert finding.gain.high == pytest.approx(1 / (1 - 8 / 25.5), rel=0.1)
    assert fix(finding, signals).kind == FixClass.SHOW_ONLY


@pytest.mark.parametrize(
    ("before", "given"),
    [
        pytest.param((IMPORTS,), {}, id="only imports"),
        pytest.param((IMPORTS, Seen(1.5, HOT_LINE)), {"steps": 6}, id="next to nothing"),
        pytest.param((IMPORTS, Seen(4.0, HOT_LINE)), {"step_s": 1.0}, id="less than a tenth"),
    ],
)
def test_stays_silent_when_there_is(before, given):
    assert detect(whole_run(before=before, **given)) is None


@pytest.mark.parametrize(("delay_share", "is_found"), [(0.0, True), (0.9, False)])
def test_standing_in_line_for_a_core_is_no_work_of_the_script(delay_share, is_found):
    signals = whole_run(before=(IMPORTS, Seen(4.0, HOT_LINE)))
    rows = signals.recording.main.tables["machine"]
    for row in rows:
        row["main_run_delay_s"] = delay_share * (row["at_s"] - rows[0]["at_s"])
    assert (detect(Signals(signals.recording)) is not None) == is_found


def test_a_twentieth_is_told_when_it_is_over_a_minute():
    long = Seen(80.0, HOT_LINE)
    assert detect(whole_run(before=(IMPORTS, long), step_s=10.0)) is not None


def test_two_pieces_of_evidence_remain_where_no_line_was_seen():
    signals = whole_run(before=(IMPORTS, Seen(8.0, HOT_LINE)))
    for row in signals.recording.main.tables["frames"]:
        row["is_user"] = 0
    finding = detect(signals)
    assert finding.where is None
    assert len(finding.evidence) >= 2


def test_the_diagnosis_of_the_run_has_it_first():
    diagnosis = diagnose_recording(whole_run(before=(IMPORTS, Seen(8.0, HOT_LINE))).recording)
    assert [f.cause for f in diagnosis.findings] == ["time-before-training"]


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("x, y = prepare(rows)", 'x, y = np.load("prepared.npz").values()'),
        ("features = self.build(rows, (3, 4))", 'features, = np.load("prepared.npz").values()'),
        ("rows.append(clean(text))", None),
        ("x, y = [prepare(row) for row in rows]", None),
    ],
)
def test_the_example_saves_what_the_scripts_own_call_returns(line, read):
    source = f"import numpy as np\n{line}\nmodel.fit(x, y)\n"
    signals = whole_run(before=(IMPORTS, Seen(8.0, 2)))
    signals.recording.main.tables["sources"][0]["text"] = source
    example = fix(detect(signals), signals).example
    assert (read in example) if read else ("prepared.npz" not in example)
