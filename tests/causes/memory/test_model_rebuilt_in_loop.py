"""`model-rebuilt-in-loop`: memory after each round is higher than after the one before."""

import pytest

from fit_runs import many_fits
from quickfit.causes.memory.model_rebuilt_in_loop import detect, fix
from quickfit.diagnosis.memory import memory_severity
from quickfit.recording.schema import columns

from builders import START_S

SEARCH = """\
for rate in rates:
    model = build()
    model.compile(Adam(rate), loss="mse")
    model.fit(x, y)
"""
CLEARED = SEARCH.replace("model = build()", "keras.backend.clear_session(); model = build()")


def search(*, per_round=8e6, level=None, **given):
    """Return rounds of two seconds each, after which memory is at a level."""
    shape = {"calls": 12, "steps": 20, "step_s": 0.09, "setup_s": 0.1, "outside_s": 0.1}
    shape |= {"models": True, "traced_s": 0.3, "text": SEARCH, **given}
    signals = many_fits(**shape)
    tables = signals.recording.main.tables
    end_s = tables["loops"][-1]["end_s"]
    at = level or (lambda number: 6e8 + per_round * number)
    names = [column.name for column in columns("machine")]
    tables["machine"] = [
        {**dict.fromkeys(names), "at_s": START_S + half / 2, "cpu_s": half / 2,
         "rss_bytes": int(at(_rounds(tables, START_S + half / 2)))}
        for half in range(int(2 * (end_s - START_S)) + 3)
    ]  # fmt: skip
    tables["objects"] = [
        {"at_s": START_S + at_s, "kind": "models", "alive": alive, "bytes": None}
        for at_s, alive in ((3, 2), (23, 12))
    ]
    signals.recording.main.facts["memory_bytes"] = 8 * 10**9
    return signals


def _rounds(tables, at_s):
    return sum(1 for row in tables["loops"] if row["end_s"] <= at_s)


def test_fires_at_the_line_that_builds():
    finding = detect(search())
    assert finding.where.line == 2
    assert finding.exhaustion.per == "round"
    assert finding.exhaustion.each == pytest.approx(8e6, rel=0.1)
    assert memory_severity(finding.exhaustion) == "severe"
    told = {fact.what: fact.value for fact in finding.evidence}
    assert told["more models are alive per round"] == pytest.approx(1.0, rel=0.3)
    assert "clear_session" in fix(finding, search()).example


def test_where_the_session_is_cleared_already_a_process_is_advised():
    signals = search(text=CLEARED)
    assert "ProcessPoolExecutor" in fix(detect(signals), signals).example


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(search(calls=5), id="five folds"),
        pytest.param(search(per_round=1e5), id="memory is given back"),
        pytest.param(search(level=lambda n: 6e8 + 1e7 * min(n, 5)), id="pools fill at first"),
        pytest.param(search(models=False, traced_s=0.0), id="one model is trained on"),
        pytest.param(
            search(models=False, text="model = build()\n\nfor r in s:\n    model.fit(x)\n"),
            id="one model is compiled again",
        ),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None
