"""When a run last moved: its steps, and everything else that is counted."""

from __future__ import annotations

from typing import Any

from quickfit.liveness.rows import NewRows
from quickfit.liveness.scene import Input, Loop, Stage, Tracing

_STEPS = (
    "SELECT loop, epoch, count(*) AS steps, max(end_s) AS last_s FROM steps WHERE rowid > ?"
    " GROUP BY loop, epoch ORDER BY loop, epoch"
)
# Those whose facts say that they do not train; a script may have a million loops.
_IDLE_LOOPS = (
    "SELECT id FROM (SELECT id, facts FROM loops ORDER BY id DESC LIMIT 50)"
    """ WHERE facts LIKE '%"trains": false%'"""
)
_LONGEST = "SELECT begin_s, end_s FROM steps WHERE rowid > ? ORDER BY rowid"


class Counters:
    """Remembers what was counted before, so that a change is seen.

    `moved_s` is the time of the last training step, `moved_any_s` of the last change of anything.
    A loop that reads through the data, or predicts, takes turns that are no training steps.
    """

    def __init__(self) -> None:
        self.moved_s = self.moved_any_s = 0.0
        self.longest_s = 0.0
        self._by_loop: dict[int, int] = {}
        # By loop: the newest epoch, and its steps.
        self._epochs: dict[int, tuple[int, int]] = {}
        self._idle_loops: set[int] = set()
        self._last_row = 0
        self._last_end_s: float | None = None
        self._values: dict[str, tuple[Any, float]] = {}
        self._rates: dict[str, tuple[int, float]] = {}

    @property
    def steps(self) -> int:
        """All training steps so far."""
        return sum(n for loop, n in self._by_loop.items() if loop not in self._idle_loops)

    def steps_of(self, loop: int) -> int:
        """Return the turns of one loop so far."""
        return self._by_loop.get(loop, 0)

    def epoch_steps_of(self, loop: int) -> int:
        """Return the turns of the newest epoch of a loop so far."""
        return self._epochs.get(loop, (0, 0))[1]

    def read_steps(self, rows: NewRows, started_s: float) -> None:
        """Count the steps that were recorded since the last time."""
        self.moved_s = max(self.moved_s, started_s)
        newest = rows.ask("SELECT max(rowid) AS last FROM steps")
        last = newest[0]["last"] if newest else None
        if last is None or last <= self._last_row:
            return
        self._idle_loops |= {row["id"] for row in rows.ask(_IDLE_LOOPS)}
        for row in rows.ask(_STEPS, self._last_row):
            self._by_loop[row["loop"]] = self.steps_of(row["loop"]) + row["steps"]
            epoch, steps = self._epochs.get(row["loop"], (0, 0))
            before = steps if epoch == row["epoch"] else 0
            self._epochs[row["loop"]] = (row["epoch"], before + row["steps"])
            if row["loop"] not in self._idle_loops:
                self.moved_s = max(self.moved_s, row["last_s"])
        for row in rows.ask(_LONGEST, self._last_row)[-2000:]:
            if self._last_end_s is not None:
                self.longest_s = max(self.longest_s, row["end_s"] - self._last_end_s)
            self._last_end_s = row["end_s"]
        self._last_row = last

    def validated(self, now_s: float, loop: Loop | None, stages: tuple[Stage, ...]) -> float:
        """Return since when validation gave no batch; for ever outside validation."""
        if loop is None or loop.phase != "validation" or not stages:
            return float("inf")
        return self.since(now_s, "validation", stages[0].elements)

    def still_s(
        self,
        now_s: float,
        stages: tuple[Stage, ...],
        inputs: tuple[Input, ...],
        tracing: Tracing | None,
    ) -> float:
        """Return since when nothing at all was counted on."""
        counted = (
            tuple((stage.elements, stage.buffered) for stage in stages),
            tuple(source.batches for source in inputs),
            tracing.operations if tracing is not None else 0,
            sum(self._by_loop.values()),
        )
        still_s = self.since(now_s, "anything", counted)
        self.moved_any_s = now_s - still_s
        return still_s

    def per_s(self, now_s: float, name: str, value: int, *, began_s: float) -> float:
        """Return how fast a number grew since the look before; at first, since it was zero."""
        before, at_s = self._rates.get(name, (0, began_s))
        self._rates[name] = (value, now_s)
        return (value - before) / (now_s - at_s) if now_s > at_s else 0.0

    def since(self, now_s: float, name: str, value: Any) -> float:
        """Return for how long a value has been what it is; at first, since the last step."""
        before = self._values.get(name)
        if before is None:
            self._values[name] = (value, self.moved_s)
        elif before[0] != value:
            self._values[name] = (value, now_s)
        return now_s - self._values[name][1]
