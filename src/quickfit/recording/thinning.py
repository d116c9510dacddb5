"""Keeps a recording small however long the run: old rows are merged, never just dropped.

Steps become blocks with sums and a histogram; snapshots of growing counters lose every second
row, which costs resolution only, since any two of them still give an exact difference.
"""

from __future__ import annotations

import json
import math
import sqlite3
from typing import Any

# Rows a table may reach before it is thinned to about half.
BOUNDS = {
    "steps": 40_000,
    "step_blocks": 4_000,
    "pipelines": 2_400,
    "py_inputs": 4_800,
    "machine": 4_800,
    "thread_groups": 8_000,
    "objects": 2_400,
    "holders": 4_000,
    "device_memory": 4_800,
    "gpus": 9_600,
    "allocations": 20_000,
    "samples": 40_000,
    "traces": 4_000,
    "threads": 4_000,
    "raises": 1_000,
    "tracing": 2_400,
}
BLOCK_STEPS = 100
# The newest steps stay in full: trends and verdicts look at them.
FULL_STEPS = 20_000
# The first traces stay in full, as an example of what differs between them.
FULL_TRACES = 1_000
# Eight bins per doubling: a quantile is known to 9 %.
BINS_PER_DOUBLING = 8
# A histogram starts at one microsecond.
SMALLEST_S = 1e-6
_SUMS = ("call_s", "logs_s", "callbacks_s", "callbacks_cpu_s", "cpu_s", "wait_s")
# Tables of running totals: the key columns tell the series apart.
_SERIES = {
    "pipelines": "iterator",
    "py_inputs": "id",
    "machine": "0",
    "thread_groups": "name",
    "objects": "kind",
    "holders": "names",
    "device_memory": "device",
    "gpus": "gpu",
    "allocations": "file, line",
    "threads": "native_id, name",
    "raises": "name, file, line",
    "tracing": "name",
}


def thin(db: sqlite3.Connection, table: str) -> int:
    """Thin one table inside the caller's transaction; return how many rows are left."""
    if table == "steps":
        _steps_to_blocks(db)
    elif table == "step_blocks":
        _merge_blocks(db)
    elif table == "samples":
        _merge_samples(db)
    elif table == "traces":
        _merge_traces(db)
    else:
        key = _SERIES[table]
        db.execute(
            f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM (SELECT rowid,"
            f" row_number() OVER (PARTITION BY {key} ORDER BY rowid) AS place,"
            f" count(*) OVER (PARTITION BY {key}) AS total FROM {table})"
            " WHERE place % 2 = 0 AND place < total)"
        )
    return count_rows(db, table)


def count_rows(db: sqlite3.Connection, table: str) -> int:
    """Return how many rows a table has."""
    return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def bin_of(seconds: float) -> int:
    """Return the histogram bin of a duration."""
    return round(BINS_PER_DOUBLING * math.log2(max(seconds, SMALLEST_S) / SMALLEST_S))


def seconds_of(index: int) -> float:
    """Return the duration at the middle of a bin."""
    return SMALLEST_S * float(2.0 ** (index / BINS_PER_DOUBLING))


def _steps_to_blocks(db: sqlite3.Connection) -> None:
    surplus = count_rows(db, "steps") - FULL_STEPS
    if surplus <= 0:
        return
    rows = db.execute(
        "SELECT rowid, loop, step, begin_s, end_s, call_s, logs_s, callbacks_s, callbacks_cpu_s,"
        " cpu_s, wait_s FROM steps ORDER BY rowid LIMIT ?",
        (surplus,),
    ).fetchall()
    block: list[tuple[float, ...]] = []
    for row in rows:
        if block and (row[1] != block[0][1] or len(block) == BLOCK_STEPS):
            _write_block(db, block)
            block = []
        block.append(row)
    if block:
        _write_block(db, block)
    db.execute("DELETE FROM steps WHERE rowid <= ?", (rows[-1][0],))


def _write_block(db: sqlite3.Connection, rows: list[tuple[float, ...]]) -> None:
    histogram: dict[int, int] = {}
    for row in rows:
        index = bin_of(row[4] - row[3])
        histogram[index] = histogram.get(index, 0) + 1
    sums = {name: sum(row[5 + i] or 0.0 for row in rows) for i, name in enumerate(_SUMS)}
    # CPU times are those of the steps that were watched in full.
    sums["watched"] = sum(row[9] is not None for row in rows)
    first, last = rows[0], rows[-1]
    db.execute(
        "INSERT INTO step_blocks VALUES (?, ?, ?, ?, ?, ?, ?)",
        (first[1], first[2], len(rows), first[3], last[4], json.dumps(sums), json.dumps(histogram)),
    )


def _merge_blocks(db: sqlite3.Connection) -> None:
    """Merge each block with the next one of its loop, so that about half are left."""
    earlier: tuple[Any, ...] | None = None
    for block in db.execute("SELECT rowid, * FROM step_blocks ORDER BY rowid").fetchall():
        if earlier is None or earlier[1] != block[1]:
            earlier = block
        else:
            _merge_two(db, earlier, block)
            earlier = None


def _merge_two(db: sqlite3.Connection, one: tuple[Any, ...], two: tuple[Any, ...]) -> None:
    sums, histogram = (
        {name: a.get(name, 0) + b.get(name, 0) for name in a | b}
        for a, b in ((json.loads(one[place]), json.loads(two[place])) for place in (6, 7))
    )
    db.execute(
        "UPDATE step_blocks SET steps=?, end_s=?, sums=?, histogram=? WHERE rowid=?",
        (one[3] + two[3], two[5], json.dumps(sums), json.dumps(histogram), one[0]),
    )
    db.execute("DELETE FROM step_blocks WHERE rowid=?", (two[0],))


def _merge_samples(db: sqlite3.Connection) -> None:
    """Count the samples of a stack over longer windows until half the bound is free."""
    window_s = 30.0
    while True:
        window_s *= 2
        db.execute(
            "CREATE TEMP TABLE merged AS SELECT min(at_s) AS at_s, stack, loop, sum(seen) AS seen"
            " FROM samples GROUP BY stack, loop, CAST(at_s / ? AS INTEGER)",
            (window_s,),
        )
        db.execute("DELETE FROM samples")
        db.execute("INSERT INTO samples SELECT at_s, stack, loop, seen FROM merged ORDER BY at_s")
        db.execute("DROP TABLE merged")
        left = db.execute("SELECT count(*) FROM samples").fetchone()[0]
        if left <= BOUNDS["samples"] / 2 or window_s > 1e7:
            return


def _merge_traces(db: sqlite3.Connection) -> None:
    """Merge each trace with the next one of the same code, so that about half are left.

    The row that stays is the later one, with the seconds and the number of both.
    """
    rows = db.execute(
        "SELECT rowid, name, file, line, caller_file, caller_line, nested, loop IS NULL,"
        " duration_s, arguments FROM traces ORDER BY rowid LIMIT -1 OFFSET ?",
        (FULL_TRACES,),
    )
    earlier: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for row in rows.fetchall():
        before = earlier.pop(row[1:8], None)
        if before is None:
            earlier[row[1:8]] = row
            continue
        told, told_before = (json.loads(each[9] or "{}") for each in (row, before))
        told["merged"] = told.get("merged", 1) + told_before.get("merged", 1)
        db.execute("DELETE FROM traces WHERE rowid=?", (before[0],))
        db.execute(
            "UPDATE traces SET duration_s=?, arguments=? WHERE rowid=?",
            (row[8] + before[8], json.dumps(told, separators=(",", ":")), row[0]),
        )
