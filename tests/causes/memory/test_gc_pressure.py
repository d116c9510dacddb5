"""`gc-pressure`: the collector's own time, when it is a share of the run's."""

import pytest

from memory_runs import flat, memory_run, rising
from quickfit.causes.memory.gc_pressure import detect, fix
from quickfit.errors import SignalMissing

from builders import SCRIPT

MANY = {"objects": {"all": (9_000_000,)}}
CALLED = "import gc\nfor x in ds:\n    train(x)\n    gc.collect()\n"


def collected(share, per_s=1.0, **given):
    return memory_run(
        **{"collecting_s": rising(share), "collections": rising(per_s), **MANY, **given}
    )


def test_fires_with_its_time_its_collections_and_its_objects():
    finding = detect(collected(0.4))
    assert finding.cost_share == pytest.approx(0.4, rel=0.02)
    assert [fact.unit for fact in finding.evidence] == ["share", "count", "count"]
    assert finding.evidence[2].value == 9_000_000
    assert finding.gain.low < finding.gain.likely < finding.gain.high
    assert finding.gain.likely == pytest.approx(1 / (1 - 0.34), rel=0.02)
    assert "gc.freeze()" in fix(finding, collected(0.4)).example


def test_a_line_that_calls_the_collector_is_named():
    signals = collected(0.4, per_s=10, source=CALLED, head_line=2)
    tables = signals.recording.main.tables
    tables["frames"].append(
        {"id": 9, "file": SCRIPT, "line": 4, "function": "<module>", "is_user": 1}
    )
    tables["stacks"].append({"id": 9, "role": "main", "frames": [9]})
    tables["samples"].append({**tables["samples"][0], "stack": 9, "seen": 60})
    finding = detect(signals)
    assert finding.where.line == 4
    assert fix(finding, signals).title.startswith("Collect once per epoch")


def test_the_line_that_makes_the_objects_is_named_and_not_what_initialises_them():
    signals = collected(0.4, per_s=10)
    tables = signals.recording.main.tables
    for number, line, function in ((8, 3, "__init__"), (9, 4, "rollout")):
        frame = {"id": number, "file": SCRIPT, "line": line, "function": function, "is_user": 1}
        tables["frames"].append(frame)
    tables["stacks"].append({"id": 9, "role": "main", "frames": [8, 9]})
    tables["samples"].append({**tables["samples"][0], "stack": 9, "seen": 90})
    finding = detect(signals)
    assert finding.where.line == 4
    assert finding.summary.startswith("objects are made here")
    assert "gc.freeze()" in fix(finding, signals).example


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(collected(0.005), id="healthy"),
        pytest.param(collected(0.4, per_s=0.02), id="a single collection"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_a_collector_that_was_not_timed_is_not_checked():
    with pytest.raises(SignalMissing):
        detect(memory_run(collections=flat(3)))
