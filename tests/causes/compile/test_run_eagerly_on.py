"""`run-eagerly-on`: fires when eager steps spend their time on starting operations."""

import pytest

from quickfit.causes.compile.run_eagerly_on import detect, fix
from quickfit.errors import SignalMissing

import builders
from builders import COMPILE_LINE, run

SMALL_OPS = {"steps": 10, "ops": 4000, "ops_s": 0.4, "median_s": 60e-6, "heavy_s": 0.05}
HUGE_OPS = {"steps": 10, "ops": 100, "ops_s": 0.995, "median_s": 30e-6, "heavy_s": 0.99}


def test_fires_at_compile_with_counted_operations():
    finding = detect(run(eager=True, eager_ops=SMALL_OPS))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == COMPILE_LINE
    assert finding.evidence[0].value == 400
    assert finding.gain.low > 10
    assert finding.gain.low < finding.gain.likely < finding.gain.high


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, id="the step is compiled"),
        pytest.param({"eager": True, "eager_ops": HUGE_OPS}, id="a few huge operations"),
        pytest.param({"callback_s": 0.03}, id="a slow callback"),
    ],
)
def test_stays_silent_when(given):
    assert detect(run(**given)) is None


def test_the_line_is_that_of_the_argument(monkeypatch):
    call = 'model.compile(\n    "adam",\n    run_eagerly=True,\n)\n'
    monkeypatch.setattr(builders, "SOURCE", "\n" * (COMPILE_LINE - 1) + call)
    signals = run(eager=True, eager_ops=SMALL_OPS)
    finding = detect(signals)
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == COMPILE_LINE + 2
    edit = fix(finding, signals)
    assert edit is not None
    assert edit.before == "run_eagerly=True,"


def test_says_that_it_could_not_look_when_no_operation_was_counted():
    with pytest.raises(SignalMissing, match="operations"):
        detect(run(eager=True))


def test_the_fix_removes_the_argument():
    signals = run(eager=True, eager_ops=SMALL_OPS)
    finding = detect(signals)
    assert finding is not None
    edit = fix(finding, signals)
    assert edit is not None
    assert edit.before == 'model.compile("adam", loss="mse", run_eagerly=True)'
    assert edit.after == 'model.compile("adam", loss="mse")'
