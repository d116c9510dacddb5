"""Runs of a hand-written loop in which a compiled function is traced again."""

from __future__ import annotations

from typing import Any

from hand_runs import hand_run
from quickfit.signals import Signals

from builders import SCRIPT

STEP_S = 0.1


def traced_run(traces: list[dict[str, Any]], **given: Any) -> Signals:
    """Return the signals of a loop with traces.

    Each trace may have: `step` (its index), `args`, `function`, `seconds` and any column of its
    row. Given may be: `text` of the script, `extra_s` (what a step with a trace takes longer),
    `kind` of the loop and what `hand_run` takes.
    """
    text, extra_s = given.pop("text", ""), given.pop("extra_s", 0.25)
    kind = given.pop("kind", "custom")
    signals = hand_run(kind, **{"stacks": [], "step_s": STEP_S, **given})
    tables = signals.recording.main.tables
    traced = {trace["step"] for trace in traces}
    late_s = 0.0
    for index, row in enumerate(tables["steps"]):
        row["begin_s"] += late_s
        late_s += extra_s if index in traced else 0.0
        row["end_s"] += late_s
    tables["traces"] = [_row(trace, tables["steps"]) for trace in traces]
    tables["sources"] = [{"file": SCRIPT, "sha256": "", "text": text}]
    return signals


def _row(trace: dict[str, Any], steps: list[dict[str, Any]]) -> dict[str, Any]:
    usual = {
        "at_s": steps[trace["step"]]["begin_s"] + 0.05,
        "duration_s": trace.get("seconds", 0.1),
        "name": "step",
        "file": SCRIPT,
        "line": 3,
        "caller_file": SCRIPT,
        "caller_line": 7,
        "ops": 10,
        "signature": None,
        "function": 1,
        "nested": 0,
        "loop": 1,
        "arguments": {"args": trace.get("args", [])},
    }
    return usual | {name: trace[name] for name in usual.keys() & trace.keys()}
