"""`callback-batch-slow`: fires when clock and CPU (or samples) agree on one callback."""

import pytest

from quickfit.causes import catalogue
from quickfit.causes.host.callback_batch_slow import detect
from quickfit.findings import FixClass
from spiky_runs import FIT, HOOK, spiky

from builders import CALLBACK_LINE, SCRIPT, run

fix = catalogue()["callback-batch-slow"].fix

LOG = (SCRIPT, 11, "on_train_batch_end", 1)


def test_fires_for_a_callback_that_computes():
    finding = detect(run(callback_s=0.03))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == CALLBACK_LINE
    assert finding.cost_share == pytest.approx(0.3, abs=0.01)
    assert finding.gain.high == pytest.approx(1 / (1 - 0.3 * 1.15), rel=0.01)


def test_fires_for_a_callback_that_waits_and_names_its_slow_line():
    finding = detect(run(callback_s=0.03, callback_cpu_s=0.0001, callback_samples=40))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == CALLBACK_LINE + 1
    assert finding.evidence[1].unit == "share"


def test_a_callback_that_works_on_some_batches_only_is_left_to_spikes():
    assert detect(spiky(part="callbacks_s", stack=(LOG, HOOK, FIT))) is None


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
        pytest.param({"input_wait_s": 0.05, "map_s": 0.1}, id="a slow input"),
    ],
)
def test_stays_silent_when(given):
    assert detect(run(**given)) is None


def test_gains_nothing_where_the_step_waits_for_input_anyway():
    finding = detect(run(callback_s=0.03, map_s=0.2))
    assert finding is not None
    assert finding.gain.likely == pytest.approx(1.0, abs=0.05)


def beside(name, saved_s, **given):
    """Return a run in which a callback saves in every step, beside one that computes."""
    signals = run(callback_s=0.03 + saved_s, callback_cpu_s=0.03, **given)
    tables = signals.recording.main.tables
    log = tables["callbacks"][0]
    place = {"file": None, "position": 1} if name == "ModelCheckpoint" else {}
    if place:
        tables["callbacks"].append({**log, **place, "name": name, "wall_s": saved_s * 105})
        log["wall_s"] = 0.03 * 105
    call = {"loop": 1, "kind": "save", "file": SCRIPT, "line": 11, "name": "Functional"}
    total = {"calls": 105, "wall_s": saved_s * 105, "cpu_s": None, "longest_s": saved_s}
    tables["calls"] = [{**call, **total}]
    return signals


@pytest.mark.parametrize("name", ["ModelCheckpoint", "Log"], ids=["Keras saves", "it saves too"])
def test_only_what_is_not_saving_counts(name):
    finding = detect(beside(name, 0.04))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == CALLBACK_LINE
    assert finding.evidence[0].value == pytest.approx(0.03, rel=0.1)


def test_another_callback_is_not_excused_by_a_validation_elsewhere():
    signals = run(callback_s=0.03)
    signals.recording.main.tables["calls"] = [
        {"loop": 1, "kind": "evaluate", "file": SCRIPT, "line": 20, "name": "Functional"}
        | {"calls": 20, "wall_s": 5.0, "cpu_s": None, "longest_s": 0.25}
    ]
    assert detect(signals) is not None


def test_the_fix_keeps_the_training_as_it_is():
    signals = run(callback_s=0.03)
    finding = detect(signals)
    assert finding is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert advice.kind is FixClass.SAME_RESULTS
    assert "batch % 50" in advice.example
