"""`time-in-input-stage`: fires when steps wait for input, whatever it is that is slow there."""

import pytest

from quickfit.causes.general.time_in_input_stage import detect, fix
from quickfit.diagnosis.engine import diagnose_recording
from quickfit.findings import FixClass
from whole_runs import IMPORT, Seen, whole_run

from builders import GENERATOR_LINE, HOT_LINE, MAP_LINE

START_UP = (Seen(20.0, 1, (IMPORT,)),)
SLOW = {"input_wait_s": 0.06, "map_s": 0.15}


def test_fires_at_the_slowest_stage():
    signals = whole_run(**SLOW)
    finding = detect(signals)
    assert finding.where.line == MAP_LINE
    assert finding.summary == (
        "`map(decode)` is the slowest stage of an input that the steps wait for"
    )
    share, spent, line = finding.evidence
    assert spent.value == pytest.approx(6.3, rel=0.1)
    assert share.value == pytest.approx(6.3 / 15.5, rel=0.1)
    assert line.value > 0.9
    assert finding.claims == ("input_wait",)
    assert fix(finding, signals).kind == FixClass.SHOW_ONLY


def test_fires_at_the_slowest_line_of_a_generator():
    signals = whole_run(input="generator", input_wait_s=0.06, batch_s=0.1)
    finding = detect(signals)
    assert finding.where.line in (HOT_LINE, GENERATOR_LINE)
    assert len(finding.evidence) >= 2


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, id="the steps do not wait"),
        pytest.param({"input_wait_s": 0.008}, id="they wait for less than a tenth"),
        pytest.param({**SLOW, "steps": 25, "before": START_UP}, id="the run is start-up"),
    ],
)
def test_stays_silent_when(given):
    assert detect(whole_run(**given)) is None


def test_a_wait_at_the_start_of_epochs_is_told_as_that():
    finding = detect(whole_run(epoch_start_s=4.0))
    assert finding.claims == ("epoch_start", "input_wait")
    assert finding.evidence[1].detail == "most of it at the start of epochs, 4.0 s each"


def test_the_diagnosis_leaves_a_map_on_one_thread_to_its_own_cause():
    slow = {"input_wait_s": 0.06, "map_s": 0.09, "parallelism": 1.0, "cpu_cores": 1.0}
    made = whole_run(**slow, is_stateful=True).recording
    causes = [f.cause for f in diagnose_recording(made).findings]
    assert "sequential-map" in causes
    assert "time-in-input-stage" not in causes
