"""How far a trial has come: moments of its training, read from its recording."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from quickfit.recording.reader import Recording

# The first steps after the start fill buffers and find the number of threads.
WARM_STEPS = 5
# A window of fewer steps says little.
MIN_STEPS = 12

Mark = tuple[float, float]


@dataclass(frozen=True)
class Progress:
    """The training of one trial, on the clock that all processes share.

    Args:
        begin_s: when the first training loop was entered.
        end_s: when the last one ended, or its last step.
        steps: the end of each step, and how many were done by then.
        epochs: the end of each epoch's last step, and how many epochs were over by then.
        epoch_steps: how many steps an epoch has; 0 where none is over.
        planned_steps: how many `fit` says that it has; 0 where it does not know.
    """

    begin_s: float
    end_s: float
    steps: tuple[Mark, ...]
    epochs: tuple[Mark, ...]
    epoch_steps: float
    planned_steps: float = 0.0

    @property
    def first_step_s(self) -> float:
        """When the first step ended."""
        return self.steps[0][0]

    def warm_steps(self) -> tuple[Mark, ...]:
        """Return the steps that count; of a short training none is left out."""
        is_long = len(self.steps) >= WARM_STEPS + MIN_STEPS
        return self.steps[WARM_STEPS:] if is_long else self.steps


def progress_of(recording: Recording | None) -> Progress | None:
    """Return how far a training is; None before its first step."""
    if recording is None:
        return None
    process = max((recording.main, *recording.others), key=lambda p: len(p.rows("steps")))
    loops = {row["id"]: row for row in process.rows("loops") if _trains(row)}
    rows = [row for row in process.rows("steps") if row["loop"] in loops]
    rows.sort(key=lambda row: row["end_s"])
    if not rows:
        return None
    sizes = {
        number: int(loop["facts"].get("steps_per_execution") or 1) for number, loop in loops.items()
    }
    steps, done = [], 0.0
    for row in rows:
        done += sizes[row["loop"]]
        steps.append((row["end_s"], done))
    epochs, epoch_steps = _epochs(rows, sizes)
    ends = [row["end_s"] for row in loops.values() if row["end_s"] is not None]
    begin_s = min(loops[row["loop"]]["entered_s"] for row in rows)
    end_s = max([rows[-1]["end_s"], *ends])
    planned = float(loops[rows[-1]["loop"]]["facts"].get("steps") or 0)
    return Progress(begin_s, end_s, tuple(steps), epochs, epoch_steps, planned)


def _trains(loop: dict[str, Any]) -> bool:
    return loop["kind"] not in ("predict", "evaluate") and bool(loop["facts"].get("trains", True))


def _epochs(
    rows: Sequence[dict[str, Any]], sizes: dict[int, int]
) -> tuple[tuple[Mark, ...], float]:
    """Return the ends of epochs that another one followed, and the usual number of their steps."""
    groups = [list(g) for _, g in groupby(rows, key=lambda row: (row["loop"], row["epoch"]))]
    over = groups[:-1]
    marks = tuple((group[-1]["end_s"], float(number)) for number, group in enumerate(over, 1))
    counts = [sum(sizes[row["loop"]] for row in group) for group in over]
    return marks, float(statistics.median(counts)) if counts else 0.0
