"""Sees the calls of `fit` at one line as one loop.

A script that calls `fit` in a loop (a chunk, an epoch or a length at a time) trains in one place;
only all its calls together are enough steps to say something about.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from quickfit.recording.reader import ProcessRecording

# Epochs are numbered from one in every call; this keeps those of two calls apart.
EPOCHS_APART = 1_000_000
# Steps that one call of a compiled function is taken apart into at most.
MAX_INNER = 500
# Tables whose rows belong to a loop.
OF_LOOPS = (
    *("steps", "epochs", "callbacks", "calls", "copies", "iterators", "py_inputs"),
    *("eager_ops", "step_blocks"),
)


def with_merged_loops(process: ProcessRecording) -> ProcessRecording:
    """Return the recording with all loops that began at one line under the first one's number."""
    process = _without_calls_of_loops(process)
    first_at: dict[tuple[Any, Any, Any], int] = {}
    number_of: dict[int, int] = {}
    for row in process.rows("loops"):
        place = (row["kind"], row["file"], row["line"])
        # Loops without a place have nothing in common.
        key = place if row["line"] is not None else (*place[:2], -row["id"])
        number_of[row["id"]] = first_at.setdefault(key, row["id"])
    if len(first_at) == len(number_of):
        return process
    tables = dict(process.tables)
    for name in OF_LOOPS:
        tables[name] = [_renumbered(row, number_of) for row in process.rows(name)]
    tables["callbacks"] = _summed(tables["callbacks"], ("loop", "position", "hook", "name"))
    tables["calls"] = _summed(tables["calls"], ("loop", "kind", "file", "line"))
    tables["loops"] = _joined(process.rows("loops"), number_of)
    return dataclasses.replace(process, tables=tables)


def _without_calls_of_loops(process: ProcessRecording) -> ProcessRecording:
    """Return the recording without loops of calls that were recorded as loops themselves.

    A script that calls `evaluate` five times, for a hundred batches each, evaluates for five
    hundred steps, not for five.
    """
    rows = process.rows("loops")
    watched = {(r["kind"], r["file"], r["line"]) for r in rows if "head" not in r["facts"]}
    kept = [
        r
        for r in rows
        if r["facts"].get("head") not in ("evaluate", "predict")
        or (r["kind"], r["file"], r["line"]) not in watched
    ]
    if len(kept) == len(rows):
        return process
    numbers = {row["id"] for row in kept}
    steps = [row for row in process.rows("steps") if row["loop"] in numbers]
    return dataclasses.replace(process, tables={**process.tables, "loops": kept, "steps": steps})


def with_inner_steps(process: ProcessRecording) -> ProcessRecording:
    """Return the recording with one row per step of loops that run inside a compiled function.

    Only their calls are seen, each of many steps that are taken to be equally long.
    """
    taken = {
        row["id"]: int(row["facts"].get("steps_per_execution") or 1)
        for row in process.rows("loops")
        if row["kind"] == "graph"
    }
    inner = {number: min(count, MAX_INNER) for number, count in taken.items()}
    if not any(count > 1 for count in inner.values()):
        return process
    left = {number: round(count / inner[number]) for number, count in taken.items()}
    tables = dict(process.tables)
    tables["steps"] = [part for row in process.rows("steps") for part in _parts(row, inner)]
    tables["loops"] = [
        {**row, "facts": {**row["facts"], "steps_per_execution": left[row["id"]]}}
        if row["id"] in inner
        else row
        for row in process.rows("loops")
    ]
    return dataclasses.replace(process, tables=tables)


def _parts(row: dict[str, Any], inner: dict[int, int]) -> list[dict[str, Any]]:
    count = inner.get(row["loop"], 1)
    if count == 1:
        return [row]
    each_s = (row["end_s"] - row["begin_s"]) / count
    names = ("call_s", "logs_s", "wait_s", "cpu_s")
    times = {name: row[name] / count for name in names if row.get(name) is not None}
    first = (row["step"] - 1) * count + 1
    return [
        {
            **row,
            **times,
            "step": first + number,
            "begin_s": row["begin_s"] + number * each_s,
            "end_s": row["begin_s"] + (number + 1) * each_s,
        }
        for number in range(count)
    ]


def _renumbered(row: dict[str, Any], number_of: dict[int, int]) -> dict[str, Any]:
    loop = row["loop"]
    changed = {**row, "loop": number_of.get(loop, loop)}
    if "epoch" in row:
        changed["epoch"] = loop * EPOCHS_APART + row["epoch"]
    return changed


def _summed(rows: list[dict[str, Any]], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return totals with those of the same callback, or the same line, added up."""
    totals: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        if key in totals:
            for name in ("calls", "wall_s", "cpu_s"):
                if row.get(name) is not None and totals[key].get(name) is not None:
                    totals[key][name] += row[name]
            if "longest_s" in row:
                totals[key]["longest_s"] = max(totals[key]["longest_s"], row["longest_s"])
            if "longest_s" in row:
                totals[key]["longest_s"] = max(totals[key]["longest_s"], row["longest_s"])
        else:
            totals[key] = dict(row)
    return list(totals.values())


def _joined(rows: list[dict[str, Any]], number_of: dict[int, int]) -> list[dict[str, Any]]:
    """Return one row per merged loop, from the begin of its first to the end of its last call."""
    joined: dict[int, dict[str, Any]] = {}
    for row in rows:
        number = number_of[row["id"]]
        if number in joined:
            before = joined[number]
            setup_s = before["setup_s"] + row["begin_s"] - row["entered_s"]
            outside_s = before["outside_s"]
            if before["end_s"] is not None:
                outside_s += max(row["entered_s"] - before["end_s"], 0.0)
            # The newest call tells how the model is set up now.
            before |= {"end_s": row["end_s"], "facts": row["facts"]}
            before |= {"setup_s": setup_s, "outside_s": outside_s}
        else:
            joined[number] = {**row, "setup_s": 0.0, "outside_s": 0.0}
    return list(joined.values())
