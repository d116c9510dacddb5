"""Step times of one training loop: without warm-up, with their spread, split into parts."""

from __future__ import annotations

import bisect
import dataclasses
import statistics
from dataclasses import dataclass
from typing import Any

# The first steps trace, compile and fill buffers; they say nothing about the rest.
WARMUP_STEPS = 5
# A leading step this many times the median still belongs to the warm-up.
WARMUP_FACTOR = 3.0


@dataclass(frozen=True)
class Step:
    """One call of the train function, or one turn of a loop that the script wrote itself.

    `cycle_s` is the time since the step before ended. `wait_s` is known where Python itself asks
    for the next batch; then it is not part of `call_s`. `logs_s` is a part of `call_s`.
    """

    number: int
    epoch: int
    begin_s: float
    end_s: float
    cycle_s: float
    call_s: float | None
    callbacks_s: float | None
    callbacks_cpu_s: float | None
    cpu_s: float | None
    is_first_of_epoch: bool
    logs_s: float | None = None
    wait_s: float | None = None


@dataclass(frozen=True)
class Steps:
    """The steps of one loop after warm-up."""

    steps: tuple[Step, ...]
    warmup: int

    @property
    def total_s(self) -> float:
        """The time of all steps together."""
        return sum(step.cycle_s for step in self.steps)

    @property
    def median_s(self) -> float:
        """The median time of a step."""
        return statistics.median(step.cycle_s for step in self.steps)

    @property
    def mean_s(self) -> float:
        """The mean time of a step; shares and gains are about totals, so they use this one."""
        return self.total_s / len(self.steps)

    @property
    def spread_s(self) -> float:
        """The median distance from the median."""
        middle = self.median_s
        return statistics.median(abs(step.cycle_s - middle) for step in self.steps)

    @property
    def begin_s(self) -> float:
        """When the first step after warm-up began."""
        return self.steps[0].end_s - self.steps[0].cycle_s

    @property
    def end_s(self) -> float:
        """When the last step ended."""
        return self.steps[-1].end_s

    def mean_of(self, part: str) -> float:
        """Return the mean of one field over all steps, as the steps that have it tell.

        Of many steps only some are watched in full. Their share of the time is what counts:
        they may have come when steps took longer.
        """
        known = [step for step in self.steps if getattr(step, part) is not None]
        took_s = sum(step.cycle_s for step in known)
        spent_s = sum(getattr(step, part) for step in known)
        return self.mean_s * spent_s / took_s if took_s else 0.0

    def before(self, at_s: float, count: int) -> tuple[Step, ...]:
        """Return the last `count` steps that ended before a moment, or fewer."""
        ends = [step.end_s for step in self.steps]
        last = bisect.bisect_right(ends, at_s)
        return self.steps[max(0, last - count) : last]


def mean_of(steps: tuple[Step, ...], part: str) -> float:
    """Return the mean of one field over the steps that have it, or zero."""
    values = [value for step in steps if (value := getattr(step, part)) is not None]
    return sum(values) / len(values) if values else 0.0


def every_step_of_loop(rows: list[dict[str, Any]], loop: int) -> Steps | None:
    """Return all steps of a loop with nothing left out; None without any."""
    steps = _with_own_cpu(_with_cycles([row for row in rows if row["loop"] == loop]))
    return Steps(tuple(steps), 0) if steps else None


def steps_of_loop(rows: list[dict[str, Any]], loop: int) -> Steps | None:
    """Return the steps of a loop, warm-up dropped; None without any step."""
    every = every_step_of_loop(rows, loop)
    return None if every is None else after_warmup(every)


def after_warmup(every: Steps) -> Steps:
    """Return the steps without warm-up.

    Of a short training a fifth is left out at most, and its first step, which traces, where there
    is another one.
    """
    steps = every.steps
    warmup = min(WARMUP_STEPS, max(len(steps) // 5, 1), len(steps) - 1)
    middle = statistics.median(step.cycle_s for step in steps[warmup:])
    while warmup < len(steps) // 2 and steps[warmup].cycle_s > WARMUP_FACTOR * middle:
        # A slow first step of an epoch is a cost of every epoch, not a warm-up.
        if steps[warmup].is_first_of_epoch:
            break
        warmup += 1
    return Steps(steps[warmup:], warmup)


def _with_cycles(rows: list[dict[str, Any]]) -> list[Step]:
    steps: list[Step] = []
    for row in rows:
        is_first = not steps or steps[-1].epoch != row["epoch"]
        # Between epochs lie validation and epoch callbacks, which are counted apart.
        since_s = row["begin_s"] if is_first else steps[-1].end_s
        steps.append(
            Step(
                number=row["step"],
                epoch=row["epoch"],
                begin_s=row["begin_s"],
                end_s=row["end_s"],
                cycle_s=row["end_s"] - since_s,
                call_s=row["call_s"],
                callbacks_s=row["callbacks_s"],
                callbacks_cpu_s=row["callbacks_cpu_s"],
                cpu_s=row["cpu_s"],
                is_first_of_epoch=is_first,
                logs_s=row["logs_s"],
                wait_s=row.get("wait_s"),
            )
        )
    return steps


def _with_own_cpu(steps: list[Step]) -> list[Step]:
    """Return steps without the CPU time of what the thread did between epochs, such as validation.

    The CPU time of a step may be counted from the last one that was watched, in the epoch before.
    """
    spans_epochs, epoch = [], None
    for step in steps:
        spans_epochs.append(step.cpu_s is not None and epoch not in (None, step.epoch))
        epoch = step.epoch if step.cpu_s is not None else epoch
    # The first step of all traces, and says nothing about the others.
    known = [s.cpu_s is not None for s in steps]
    has_others = any(k and not spans for k, spans in [*zip(known, spans_epochs, strict=True)][1:])
    return [
        dataclasses.replace(step, cpu_s=None if has_others else min(step.cpu_s, step.cycle_s))
        if spans and step.cpu_s is not None
        else step
        for step, spans in zip(steps, spans_epochs, strict=True)
    ]
