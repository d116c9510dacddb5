"""A dataset that is wrapped once more in every round."""

from drift_runs import SCRIPT, WRAP_LINE, drifting, rising
from quickfit.causes import catalogue
from quickfit.causes.slowdown.growing_pipeline import detect
from quickfit.findings import FixClass

fix = catalogue()["growing-pipeline"].fix

ROUNDS = 12


def wrapped(signals, *, more=True):
    """Give every epoch an iterator of its own, with one more map than the one before."""
    steps = signals.process.rows("steps")
    firsts = [s for n, s in enumerate(steps) if n == 0 or steps[n - 1]["epoch"] != s["epoch"]]
    chain = [{"id": 1, "kind": "TensorSlice", "line": 2, "inputs": []}]
    iterators = []
    for number, first in enumerate(firsts, start=1):
        inputs = [number if more else 1]
        chain.append({"id": number + 1, "kind": "Map", "line": WRAP_LINE, "inputs": inputs})
        made = {"id": number, "loop": 1, "phase": "train", "dataset": number + 1}
        iterators.append({**made, "created_s": first["begin_s"]})
    signals.process.tables["datasets"] = [{**row, "file": SCRIPT, "facts": {}} for row in chain]
    signals.process.tables["iterators"] = iterators
    return signals


def growing(**given):
    return drifting(epochs=ROUNDS, call=rising(0.010, 0.030, 600), **given)


def test_fires_at_the_line_that_wraps():
    signals = wrapped(growing())
    finding = detect(signals)
    assert finding.where.line == WRAP_LINE
    assert finding.evidence[0].value == ROUNDS + 1
    assert "12 of them from this line" in finding.evidence[0].detail
    assert fix(finding, signals).kind == FixClass.REPAIRS


def test_stays_silent_when_the_dataset_is_only_built_anew():
    assert detect(wrapped(growing(), more=False)) is None


def test_stays_silent_when_nothing_gets_slower():
    assert detect(wrapped(drifting(epochs=ROUNDS))) is None


def test_stays_silent_when_a_callback_grows_meanwhile():
    signals = wrapped(drifting(epochs=ROUNDS, callbacks=rising(0.001, 0.03, 600)))
    assert detect(signals) is None


def test_stays_silent_beside_a_neighbour():
    signals = wrapped(drifting(epochs=ROUNDS, slower=lambda n: 2.0 if n > 300 else 1.0))
    assert detect(signals) is None
