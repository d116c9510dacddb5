"""The training loops of a process: where they were started, and what runs around their steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit.findings import Location
from quickfit.recording.reader import ProcessRecording
from quickfit.signals.steps import Steps

Locate = Callable[[str | None, int | None], Location | None]
BATCH_HOOKS = ("on_train_batch_begin", "on_train_batch_end")


@dataclass(frozen=True)
class CallbackTime:
    """What one callback's batch hook takes per step. `location` is None for Keras's own."""

    name: str
    hook: str
    location: Location | None
    step_s: float
    calls: int


@dataclass(frozen=True)
class Loop:
    """One call of `fit`."""

    id: int
    kind: str
    location: Location | None
    entered_s: float
    begin_s: float
    first_step_s: float | None
    end_s: float
    is_over: bool
    facts: dict[str, Any]

    @property
    def input(self) -> str:
        """What feeds it: `tf.data`, `generator`, `pydataset`, `arrays` or `unknown`."""
        return str(self.facts.get("input", "unknown"))

    @property
    def duration_s(self) -> float:
        """How long it ran, or has run."""
        return self.end_s - self.begin_s

    def callbacks_per_step(self, process: ProcessRecording, locate: Locate) -> list[CallbackTime]:
        """Return the time of each callback's batch hooks per step, the slowest first."""
        times = [
            CallbackTime(
                row["name"],
                row["hook"],
                locate(row["file"], row["line"]),
                row["wall_s"] / row["calls"],
                row["calls"],
            )
            for row in process.rows("callbacks")
            if row["loop"] == self.id and row["hook"] in BATCH_HOOKS and row["calls"]
        ]
        return sorted(times, key=lambda time: time.step_s, reverse=True)


@dataclass(frozen=True)
class WholeTime:
    """The time from the first step after warm-up to the end of the last epoch, and its parts."""

    total_s: float
    steps_s: float
    validation_s: float

    @property
    def between_s(self) -> float:
        """What is neither a step nor validation: epoch ends, and between calls of `fit`."""
        return max(self.total_s - self.steps_s - self.validation_s, 0.0)

    @property
    def steps_share(self) -> float:
        """The share of the steps; a gain of the steps is a gain of this part only."""
        return self.steps_s / self.total_s if self.total_s else 1.0


def whole_time(steps: Steps, epochs: list[Epoch]) -> WholeTime:
    """Return the time of training with what lies between its steps."""
    seen = [epoch for epoch in epochs if epoch.end_s > steps.begin_s]
    end_s = max([steps.end_s, *(epoch.end_s for epoch in seen)])
    total_s = max(end_s - steps.begin_s, steps.total_s)
    validation_s = min(sum(epoch.validation_s for epoch in seen), total_s - steps.total_s)
    return WholeTime(total_s, steps.total_s, validation_s)


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


@dataclass(frozen=True)
class Trace:
    """One trace of a `tf.function`.

    `location` is the function's own place, None inside Keras or TensorFlow; `caller` is the
    user's line behind it. `is_nested` means that another trace was under way, `is_in_loop` that
    it happened on the thread that trains and not, say, in a generator.
    """

    at_s: float
    duration_s: float
    name: str
    location: Location | None
    caller: Location | None
    signature: str
    function: int
    is_nested: bool
    is_in_loop: bool

    @classmethod
    def from_row(cls, row: dict[str, Any], locate: Locate) -> Trace:
        """Return the trace a row holds."""
        return cls(
            row["at_s"],
            row["duration_s"],
            row["name"],
            locate(row["file"], row["line"]),
            locate(row["caller_file"], row["caller_line"]),
            row["signature"] or "",
            row["function"],
            bool(row["nested"]),
            row["loop"] is not None,
        )


def loops_of(process: ProcessRecording, locate: Locate) -> list[Loop]:
    """Return every loop a process ran, the end of an unfinished one being its last step."""
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
            row["facts"],
        )
        for row in process.rows("loops")
    ]
