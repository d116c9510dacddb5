"""`step-overhead-small-model`: fires when Keras's Python is most of a long training."""

import pytest

from hand_runs import hand_run
from quickfit.causes.host.step_overhead_small_model import detect
from quickfit.findings import FixClass

from builders import COMPILE_LINE, START_S, run, shown_fix


def fit(**given):
    facts = {
        "input": "arrays",
        "batch_size": 32,
        "parameters": 577,
        "steps": 10_000,
        "epochs": 10,
        **given.pop("facts", {}),
    }
    base = {"input_wait_s": 0.0, "callback_s": 0.0, "cpu_cores": 1.2, "steps": 4005}
    base |= given.pop("base", {})
    return hand_run(
        given.pop("kind", "fit"),
        **{
            "stacks": [],
            "step_s": 0.001,
            "cpu_s": 0.00065,
            "facts": facts,
            "base": base,
            **given,
        },
    )


def test_fires_at_compile_with_the_share_of_python():
    finding = detect(fit())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == COMPILE_LINE
    assert finding.evidence[0].value == pytest.approx(0.65, abs=0.02)
    assert finding.gain.low == pytest.approx(1 / (1 - 0.7 * 0.65), rel=0.05)
    assert finding.gain.low < finding.gain.likely <= finding.gain.high


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"cpu_s": 0.0003}, id="the model takes the time"),
        pytest.param({"facts": {"steps_per_execution": 32}}, id="many steps per call already"),
        pytest.param({"facts": {"batch_size": 4}}, id="a tiny batch"),
        pytest.param({"facts": {"run_eagerly": True}}, id="eager"),
        pytest.param({"base": {"input_wait_s": 0.0004}}, id="the input takes the time"),
        pytest.param(
            {"base": {"facts": {"started_s": START_S - 60}}},
            id="a training that is short beside what comes before it",
        ),
        pytest.param({"kind": "custom"}, id="not fit"),
    ],
)
def test_stays_silent_when(given):
    assert detect(fit(**given)) is None


def test_stays_silent_on_a_healthy_fit():
    assert detect(run()) is None


def test_the_fix_shows_the_page_where_the_step_is_eager():
    signals = fit()
    finding = detect(signals)
    assert finding is not None
    edit = shown_fix("step-overhead-small-model", finding, signals)
    assert edit is not None
    assert not edit.before
    assert "steps_per_execution=32" in edit.example
    # A callback of the script works on batches, and would come more rarely.
    assert edit.kind == FixClass.MAY_CHANGE_RESULTS
