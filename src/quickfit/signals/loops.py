"""The training loops of a process: where they were started, and what runs around their steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit.findings import Location
from quickfit.recording.reader import ProcessRecording

Locate = Callable[[str | None, int | None], Location | None]
BATCH_HOOKS = ("on_train_batch_begin", "on_train_batch_end")
EPOCH_HOOKS = ("on_epoch_begin", "on_epoch_end")


@dataclass(frozen=True)
class CallbackTime:
    """What one callback's hook takes per call. `location` is None for Keras's own.

    `cpu_s` is the CPU time of one call, where it was measured.
    """

    name: str
    hook: str
    location: Location | None
    step_s: float
    calls: int
    cpu_s: float | None = None
    is_user: bool = True


@dataclass(frozen=True)
class Call:
    """What one line calls TensorFlow or Keras for, in one loop (0: outside any), in all.

    `kind` is `next`, `function`, `train`, `test`, `predict`, `evaluate`, `gradient`, `apply` or
    `save`.
    """

    loop: int
    kind: str
    name: str
    location: Location | None
    calls: int
    wall_s: float
    longest_s: float

    @classmethod
    def from_row(cls, row: dict[str, Any], locate: Locate) -> Call:
        """Return the total a row holds."""
        where = locate(row["file"], row["line"])
        times = (row["calls"], row["wall_s"], row["longest_s"])
        return cls(row["loop"], row["kind"], row["name"], where, *times)


@dataclass(frozen=True)
class Loop:
    """One call of `fit`, or a loop of the script's own.

    `kind` is `fit`, `train_on_batch`, `custom`, `graph` (the loop runs inside one compiled
    function), `predict` or `evaluate`. `setup_s` is the time from the calls of `fit` to their
    first step, `outside_s` the time between one call's end and the next one's begin.
    """

    id: int
    kind: str
    location: Location | None
    entered_s: float
    begin_s: float
    first_step_s: float | None
    end_s: float
    is_over: bool
    facts: dict[str, Any]
    setup_s: float = 0.0
    outside_s: float = 0.0

    @property
    def input(self) -> str:
        """What feeds it: `tf.data`, `generator`, `pydataset`, `arrays`, `python` or `unknown`.

        `python` is a loop that makes its batches itself, `graph` one that runs inside a compiled
        function.
        """
        return str(self.facts.get("input", "unknown"))

    @property
    def duration_s(self) -> float:
        """How long it ran, or has run."""
        return self.end_s - self.begin_s

    @property
    def trains(self) -> bool:
        """Whether it changes weights; a loop of the script may only predict."""
        return bool(self.facts.get("trains", True))

    def callback_times(
        self, process: ProcessRecording, locate: Locate, hooks: tuple[str, ...]
    ) -> list[CallbackTime]:
        """Return the time of each callback's hooks per call, the slowest first."""
        times = [
            CallbackTime(
                row["name"],
                row["hook"],
                locate(row["file"], row["line"]),
                row["wall_s"] / row["calls"],
                row["calls"],
                row["cpu_s"] / row["calls"] if row.get("cpu_s") is not None else None,
                bool(row["file"] is not None if row.get("is_user") is None else row["is_user"]),
            )
            for row in process.rows("callbacks")
            if row["loop"] == self.id and row["hook"] in hooks and row["calls"]
        ]
        return sorted(times, key=lambda time: time.step_s, reverse=True)


@dataclass(frozen=True)
class EagerOps:
    """The operations of an eager step, from a short look: per step, how many and how long.

    `heavy_s` is the time of large operations beyond what starting any operation takes.
    """

    steps: int
    per_step: float
    step_s: float
    median_s: float
    heavy_s: float

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> EagerOps:
        """Return the look a row holds."""
        steps = max(row["steps"], 1)
        return cls(
            steps, row["ops"] / steps, row["ops_s"] / steps, row["median_s"], row["heavy_s"] / steps
        )


@dataclass(frozen=True)
class Epoch:
    """One epoch that ended, with the time its validation took."""

    number: int
    begin_s: float
    end_s: float
    validation_s: float

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Epoch:
        """Return the epoch a row holds."""
        return cls(row["epoch"], row["begin_s"], row["end_s"], row["validation_s"] or 0.0)


def loops_of(process: ProcessRecording, locate: Locate) -> list[Loop]:
    """Return every loop a process ran, the end of an unfinished one being its last step."""
    fed = {row["iterator"] for row in process.rows("pipelines") if row["gaps"]}
    from_tf_data = {row["loop"] for row in process.rows("iterators") if row["id"] in fed}
    last_end: dict[int, float] = {}
    for row in process.rows("steps"):
        last_end[row["loop"]] = row["end_s"]
    return [
        Loop(
            row["id"],
            row["kind"],
            locate(row["file"], row["line"]),
            row["entered_s"],
            row["begin_s"],
            row["first_step_s"],
            row["end_s"] or last_end.get(row["id"]) or row["begin_s"],
            row["end_s"] is not None,
            _facts(row["facts"], is_fed=row["id"] in from_tf_data),
            row.get("setup_s", 0.0),
            row.get("outside_s", 0.0),
        )
        for row in process.rows("loops")
    ]


def _facts(facts: dict[str, Any], *, is_fed: bool) -> dict[str, Any]:
    """Return the facts of a loop; one whose function takes an iterator asks it in the graph."""
    if is_fed and facts.get("input") == "python":
        return {**facts, "input": "tf.data"}
    return facts


def loops_outside(process: ProcessRecording, loop: Loop) -> set[int]:
    """Return the numbers of the loops before the first call of this one, or after its last.

    Args:
        process: as it was recorded, with every call by itself.
        loop: one or, after merging, all calls at its line. What comes between them is part of it.
    """
    rows = process.rows("loops")
    places = [(row["kind"], row["file"], row["line"]) for row in rows if row["id"] == loop.id]
    own = [row for row in rows if (row["kind"], row["file"], row["line"]) in places]
    first_s = min((min(row["entered_s"], row["begin_s"]) for row in own), default=-math.inf)
    ends = [math.inf if row["end_s"] is None else row["end_s"] for row in own]
    last_s = max(ends, default=math.inf)
    return {row["id"] for row in rows if not first_s <= row["begin_s"] < last_s}
