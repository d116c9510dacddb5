"""Recordings cut off at a moment: what a reader would have seen of the run then."""

from __future__ import annotations

import dataclasses
from typing import Any

from quickfit.recording.reader import ProcessRecording, Recording

# The moment that a row was written at, by table; others were there from the start.
_WRITTEN_AT = {
    "epochs": "end_s",
    "steps": "end_s",
    "step_blocks": "end_s",
    **dict.fromkeys(
        (
            *("pipelines", "py_inputs", "traces", "eager_ops", "copies", "samples", "threads"),
            *("raises", "tracing", "machine", "thread_groups", "objects", "device_memory"),
            *("allocations", "notes"),
        ),
        "at_s",
    ),
    "iterators": "created_s",
}


def cut_at_step(recording: Recording, steps: int) -> Recording:
    """Return a recording as it was when its longest loop had taken so many steps."""
    rows = recording.main.rows("steps")
    counts: dict[int, int] = {}
    for row in rows:
        counts[row["loop"]] = counts.get(row["loop"], 0) + 1
    longest = max(counts, key=lambda loop: counts[loop])
    ends = [row["end_s"] for row in rows if row["loop"] == longest]
    return cut_at(recording, ends[min(steps, len(ends)) - 1] + 0.01)


def cut_at(recording: Recording, at_s: float) -> Recording:
    """Return a recording as it was at a moment, of a script that was still running."""
    run = {**recording.run, "exit_code": None, "signal": None, "ended_at": None, "early": None}
    others = [_cut(process, at_s) for process in recording.others]
    return dataclasses.replace(recording, run=run, main=_cut(recording.main, at_s), others=others)


def _cut(process: ProcessRecording, at_s: float) -> ProcessRecording:
    tables: dict[str, list[dict[str, Any]]] = {}
    for name, rows in process.tables.items():
        column = _WRITTEN_AT.get(name)
        tables[name] = [row for row in rows if column is None or row[column] <= at_s]
    tables["loops"] = [
        {
            **row,
            "end_s": row["end_s"] if (row["end_s"] or at_s + 1) <= at_s else None,
            "first_step_s": row["first_step_s"] if (row["first_step_s"] or 0) <= at_s else None,
        }
        for row in process.rows("loops")
        if row["begin_s"] <= at_s
    ]
    begun = {row["id"] for row in tables["loops"]}
    # Totals are known only at the end; a part of them had come by then.
    for name in ("callbacks", "calls", *({"py_functions"} & process.tables.keys())):
        share = _share_of_steps(process, at_s)
        tables[name] = [
            {
                **row,
                "calls": max(round(row["calls"] * share), 1),
                "wall_s": row["wall_s"] * share,
                **({"cpu_s": row["cpu_s"] * share} if row.get("cpu_s") is not None else {}),
            }
            for row in process.rows(name)
            if row["loop"] in begun or not row["loop"]
        ]
    facts = {k: v for k, v in process.facts.items() if k not in ("ended_s", "stopped_early")}
    return dataclasses.replace(process, facts=facts, tables=tables)


def _share_of_steps(process: ProcessRecording, at_s: float) -> float:
    rows = process.rows("steps")
    return sum(row["end_s"] <= at_s for row in rows) / len(rows) if rows else 1.0
