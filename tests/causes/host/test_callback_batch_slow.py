"""`callback-batch-slow`: fires when clock and CPU (or samples) agree on one callback."""

import pytest

from quickfit.causes.host.callback_batch_slow import detect, fix
from quickfit.findings import FixClass

from builders import CALLBACK_LINE, run


def test_fires_for_a_callback_that_computes():
    finding = detect(run(callback_s=0.03))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == CALLBACK_LINE
    assert finding.cost_share == pytest.approx(0.3, abs=0.01)
    assert finding.gain.high == pytest.approx(1 / 0.7, rel=0.01)


def test_fires_for_a_callback_that_waits_and_names_its_slow_line():
    finding = detect(run(callback_s=0.03, callback_cpu_s=0.0001, callback_samples=40))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == CALLBACK_LINE + 1
    assert finding.evidence[1].unit == "share"


def test_the_gain_is_no_more_than_the_input_allows():
    finding = detect(run(callback_s=0.03, map_s=0.18, parallelism=2.0))
    assert finding is not None
    assert finding.gain.high == pytest.approx(0.1 / 0.09, rel=0.03)
    assert "input is the limit" in finding.gain.basis


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, id="a light callback"),
        pytest.param(
            {"callback_s": 0.03, "callback_cpu_s": 0.0001},
            id="only the clock says so",
        ),
        pytest.param({"callback_s": 0.03, "map_s": 0.2}, id="the step waits for input anyway"),
        pytest.param({"input_wait_s": 0.05, "map_s": 0.1}, id="a slow input"),
    ],
)
def test_stays_silent_when(given):
    assert detect(run(**given)) is None


def test_the_fix_keeps_the_training_as_it_is():
    signals = run(callback_s=0.03)
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert advice.kind is FixClass.SAME_RESULTS
    assert "batch % 50" in advice.example
