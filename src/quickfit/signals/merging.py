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
# Tables whose rows belong to a loop.
OF_LOOPS = ("steps", "epochs", "callbacks", "iterators", "py_inputs", "eager_ops")


def with_merged_loops(process: ProcessRecording) -> ProcessRecording:
    """Return the recording with all loops that began at one line under the first one's number."""
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
    tables["callbacks"] = _summed(tables["callbacks"])
    tables["loops"] = _joined(process.rows("loops"), number_of)
    return dataclasses.replace(process, tables=tables)


def _renumbered(row: dict[str, Any], number_of: dict[int, int]) -> dict[str, Any]:
    loop = row["loop"]
    changed = {**row, "loop": number_of.get(loop, loop)}
    if "epoch" in row:
        changed["epoch"] = loop * EPOCHS_APART + row["epoch"]
    return changed


def _summed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the totals of callbacks with those of the same callback added up."""
    totals: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("loop", "position", "hook", "name"))
        if key in totals:
            totals[key]["calls"] += row["calls"]
            totals[key]["wall_s"] += row["wall_s"]
        else:
            totals[key] = dict(row)
    return list(totals.values())


def _joined(rows: list[dict[str, Any]], number_of: dict[int, int]) -> list[dict[str, Any]]:
    """Return one row per merged loop, from the begin of its first to the end of its last call."""
    joined: dict[int, dict[str, Any]] = {}
    for row in rows:
        number = number_of[row["id"]]
        if number in joined:
            # The newest call tells how the model is set up now.
            joined[number] |= {"end_s": row["end_s"], "facts": row["facts"]}
        else:
            joined[number] = dict(row)
    return list(joined.values())
