"""Puts recorded steps together to one long series that does not slow down by itself.

A piece of a recording is kept as it is, with the counters of the machine beside its steps, so that
episodes of load keep their length. Pieces of quiet runs and of runs beside a hog follow one
another: load comes for hundreds or thousands of steps, and now and then it stays.
"""

from __future__ import annotations

import bisect
import json
import random
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickfit.lab.statistics import looks
from quickfit.recording import reader, thinning
from quickfit.recording.reader import ProcessRecording
from quickfit.recording.schema import columns, create_sql
from quickfit.signals import Signals
from quickfit.signals.drift import HOST_PARTS, Drift, Slowdown
from quickfit.signals.drift_series import all_series
from quickfit.signals.steps import steps_of_loop

Row = dict[str, Any]
# Counters that go on from one piece to the next.
COUNTERS = (
    *("cpu_s", "main_cpu_s", "run_delay_s", "main_run_delay_s", "system_busy_s", "throttled_s"),
    *("collecting_s", "wall_s", "batches"),
)
# Pieces have some thousand steps, where the recording has as many.
PIECE = (800, 4000)
# So many steps lie between two moments at which somebody may look, at first.
PART = 100
# The share of pieces after which the load changes for good, or for a piece only.
STAYS, EPISODE = 0.03, 0.25
TABLES = ("steps", "step_blocks", "machine", "py_inputs")


@dataclass(frozen=True)
class Noise:
    """The steps of a recorded run after warm-up, and the counters beside them."""

    steps: list[Row]
    machine: list[Row]
    py_inputs: list[Row]

    @classmethod
    def of(cls, path: Path) -> Noise:
        """Return the noise that a recording holds."""
        signals = Signals(reader.read(path))
        begin_s, process = signals.steps.begin_s, signals.process
        loop = signals.loop.id
        steps = [r for r in process.rows("steps") if r["loop"] == loop and r["begin_s"] >= begin_s]
        inputs = [r for r in process.rows("py_inputs") if r["loop"] == loop]
        inputs = [row for row in inputs if row["id"] == inputs[-1]["id"]]
        return cls(steps, list(process.rows("machine")), inputs)

    def piece(self, random: random.Random) -> tuple[list[Row], list[Row], list[Row]]:
        """Return a piece: steps that follow one another, and what was read meanwhile."""
        count = min(random.randint(*PIECE), len(self.steps))
        first = random.randrange(len(self.steps) - count + 1)
        steps = self.steps[first : first + count]
        begin_s, end_s = steps[0]["begin_s"], steps[-1]["end_s"]
        machine, inputs = (_inside(t, begin_s, end_s) for t in (self.machine, self.py_inputs))
        return steps, machine, inputs


def _inside(rows: list[Row], begin_s: float, end_s: float) -> list[Row]:
    """Return the readings in a span, and the one before it."""
    times = [row["at_s"] for row in rows]
    first = max(bisect.bisect_left(times, begin_s) - 1, 0)
    return rows[first : bisect.bisect_right(times, end_s)]


class Simulation:
    """Writes a long recording of such pieces, thinned as a real one, and asks it at every look."""

    def __init__(self, quiet: list[Noise], loaded: list[Noise], random: random.Random) -> None:
        self.noise = (quiet, loaded)
        self.random = random
        self.db = sqlite3.connect(":memory:")
        for table in TABLES:
            self.db.execute(create_sql(table))
        self.at_s, self.done, self.looks, self.epoch = 1000.0, 0, 0, 0
        self.totals: dict[tuple[str, str], float] = {}
        self.is_loaded = False

    def ask(self, steps: int) -> list[Slowdown]:
        """Return what is said at each look until so many steps are done."""
        said: list[Slowdown] = []
        due = looks(steps)
        for piece in self._pieces():
            for part in _cut(*piece, size=max(PART, self.done // 50)):
                self._add(*part)
                if self.done >= due[0]:
                    due = [look for look in due if look > self.done]
                    self.looks += 1
                    slow = self._drift().slowdown
                    said += [slow] if slow is not None else []
                    if not due:
                        return said
        return said

    def _pieces(self) -> Iterator[tuple[list[Row], list[Row], list[Row]]]:
        while True:
            drawn = self.random.random()
            is_loaded = self.is_loaded != (drawn < EPISODE)
            if drawn > 1 - STAYS:
                self.is_loaded = not self.is_loaded
            yield self.random.choice(self.noise[is_loaded]).piece(self.random)

    def _add(self, steps: list[Row], machine: list[Row], inputs: list[Row]) -> None:
        moved_s = self.at_s - steps[0]["begin_s"]
        self.epoch += 1
        rows = []
        for number, row in enumerate(steps, start=1):
            times = {"begin_s": row["begin_s"] + moved_s, "end_s": row["end_s"] + moved_s}
            place = {"loop": 1, "epoch": 1, "step": self.done + number}
            rows.append({**row, **place, **times})
        self._write("steps", rows)
        for table, readings in (("machine", machine), ("py_inputs", inputs)):
            self._write(table, list(self._going_on(table, readings, moved_s)))
        self.done += len(steps)
        self.at_s = rows[-1]["end_s"]

    def _going_on(self, table: str, rows: list[Row], moved_s: float) -> Iterator[Row]:
        """Yield readings with counters that go on from those of the piece before."""
        for place, row in enumerate(rows):
            if place == 0:
                continue
            new = {**row, "at_s": row["at_s"] + moved_s, **({"loop": 1} if "loop" in row else {})}
            for name in COUNTERS:
                if row.get(name) is not None and rows[place - 1].get(name) is not None:
                    key = (table, name)
                    grown = row[name] - rows[place - 1][name]
                    self.totals[key] = self.totals.get(key, 0) + grown
                    new[name] = self.totals[key]
            yield new

    def _write(self, table: str, rows: list[Row]) -> None:
        names = [column.name for column in columns(table)]
        marks = ", ".join("?" * len(names))
        self.db.executemany(
            f"INSERT INTO {table} VALUES ({marks})",
            [[_plain(row.get(name)) for name in names] for row in rows],
        )
        count = self.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        if count > thinning.BOUNDS[table]:
            thinning.thin(self.db, table)
            blocks = self.db.execute("SELECT count(*) FROM step_blocks").fetchone()[0]
            if table == "steps" and blocks > thinning.BOUNDS["step_blocks"]:
                thinning.thin(self.db, "step_blocks")

    def _drift(self) -> Drift:
        tables = {table: self._read(table) for table in TABLES}
        process = ProcessRecording(Path("1.sqlite"), {}, tables)
        steps = steps_of_loop(tables["steps"], 1)
        assert steps is not None
        return Drift(all_series([process], 1, steps, steps.steps, 1), 2.0, HOST_PARTS)

    def _read(self, table: str) -> list[Row]:
        names = [column.name for column in columns(table)]
        rows = self.db.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall()
        found = [dict(zip(names, row, strict=True)) for row in rows]
        for row in found if table == "step_blocks" else ():
            row["sums"], row["histogram"] = json.loads(row["sums"]), json.loads(row["histogram"])
        return found


def _cut(
    steps: list[Row], machine: list[Row], inputs: list[Row], *, size: int
) -> Iterator[tuple[list[Row], list[Row], list[Row]]]:
    """Yield a piece in parts that are short enough to look after each."""
    for begin in range(0, len(steps), size):
        part = steps[begin : begin + size]
        begin_s, end_s = part[0]["begin_s"], part[-1]["end_s"]
        yield part, _inside(machine, begin_s, end_s), _inside(inputs, begin_s, end_s)


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value
