"""How long a step takes in one recording, and how sure that is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from quickfit.findings import Interval
from quickfit.lab.script_pair import Progress, progress_of
from quickfit.lab.statistics import NORMAL_95, mean_doubt
from quickfit.recording.reader import Recording
from quickfit.signals.drift_series import others_s

# Steps are merged into stretches: what disturbs a step disturbs its neighbours too.
MOST_STRETCHES, STRETCH_STEPS, FEWEST_STRETCHES = 16, 6, 3
# Taken for how much the same script differs when it is run again later on the same quiet machine
# (one standard deviation, as a share): no spread within a run shows it. An assumption, which
# `benchmarks/compare.py --record` is there to measure.
RUN_SPREAD = 0.03
# Others that use less of a core do not show.
MIN_OTHERS = 0.1


@dataclass(frozen=True)
class Pace:
    """The steps of one run.

    Args:
        steps: how many were counted.
        step_s: the time of one, with everything that comes between steps.
        half: half of its 95 % interval, as a share, by the spread of its own stretches.
        others: cores that other programs used meanwhile, as a share of all.
        epoch_steps: how many steps an epoch has; 0 where that is not known.
    """

    steps: int
    step_s: float
    half: float
    others: float
    epoch_steps: float


def pace_of(recording: Recording) -> Pace | None:
    """Return the pace of a recording; None where it has too few steps."""
    progress = progress_of(recording)
    if progress is None:
        return None
    pace = pace_of_marks(progress.warm_steps())
    if pace is None:
        return None
    size = progress.epoch_steps or progress.planned_steps
    return dataclasses.replace(pace, others=_others(recording, progress), epoch_steps=size)


def pace_of_marks(marks: Sequence[tuple[float, float]]) -> Pace | None:
    """Return the pace of steps by when they ended and how many were done by then."""
    if len(marks) < FEWEST_STRETCHES + 1:
        return None
    span_s, done = marks[-1][0] - marks[0][0], marks[-1][1] - marks[0][1]
    if span_s <= 0 or done <= 0:
        return None
    half = mean_doubt([s / d for s, d in _stretches(marks)])
    return Pace(round(done), span_s / done, half, others=0.0, epoch_steps=0.0)


def _stretches(marks: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return time and steps of equal parts of a run."""
    count = min(max((len(marks) - 1) // STRETCH_STEPS, FEWEST_STRETCHES), MOST_STRETCHES)
    ends = [round(number * (len(marks) - 1) / count) for number in range(count + 1)]
    spans = [
        (marks[b][0] - marks[a][0], marks[b][1] - marks[a][1]) for a, b in pairwise(ends) if b > a
    ]
    return [(seconds, done) for seconds, done in spans if seconds > 0 and done > 0]


def _others(recording: Recording, progress: Progress) -> float:
    """Return the share of the cores that programs of others used while it trained."""
    rows = recording.main.rows("machine")
    begin_s, end_s = progress.first_step_s, progress.steps[-1][0]
    spent_s = others_s(rows, recording.others, begin_s, end_s)
    cores = recording.main.facts.get("cores")
    if spent_s is None or not isinstance(cores, int) or cores < 1 or end_s <= begin_s:
        return 0.0
    used = spent_s / (end_s - begin_s)
    return min(used / cores, 0.95) if used >= MIN_OTHERS else 0.0


def slower_of(before: Pace, after: Pace, *, per_epoch: bool) -> Interval:
    """Return how many times as long the second takes, as far as one run of each can say.

    The interval holds the spread of each run's own steps, what runs differ by anyway, and what
    other programs on the machine may have taken.
    """
    size = after.epoch_steps / before.epoch_steps if per_epoch else 1.0
    likely = after.step_s * size / before.step_s
    again = NORMAL_95 * math.sqrt(2) * RUN_SPREAD
    half = math.sqrt(before.half**2 + after.half**2 + again**2)
    return Interval(
        likely * math.exp(-half) * (1 - after.others),
        likely,
        likely * math.exp(half) / (1 - before.others),
    )


def has_other_epochs(before: Pace, after: Pace) -> bool:
    """Tell whether a step of the one is another amount of work: epochs have other step counts."""
    sizes = (before.epoch_steps, after.epoch_steps)
    return all(sizes) and abs(sizes[0] - sizes[1]) > 1
