"""Step times of one training loop, and the time of the training around its steps."""

from __future__ import annotations

import bisect
import dataclasses
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quickfit.recording.reader import ProcessRecording
from quickfit.signals.loops import EPOCH_HOOKS, Epoch, Loop

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


def after_warmup(every: Steps, traced_again: Sequence[float] = ()) -> Steps:
    """Return the steps without warm-up.

    Of a short training a fifth is left out at most, and its first step, which traces, where there
    is another one. Slow steps at the start are left out too, up to half of all.

    Args:
        every: all steps of the loop.
        traced_again: when functions were traced that had been traced often enough before; such
            steps are a cost of the training, however many come first.
    """
    steps = every.steps
    warmup = min(WARMUP_STEPS, max(len(steps) // 5, 1), len(steps) - 1)
    middle = statistics.median(step.cycle_s for step in steps[warmup:])
    while warmup < len(steps) // 2 and steps[warmup].cycle_s > WARMUP_FACTOR * middle:
        step = steps[warmup]
        # A slow first step of an epoch is a cost of every epoch, not a warm-up.
        if step.is_first_of_epoch:
            break
        if any(step.end_s - step.cycle_s <= at_s <= step.end_s for at_s in traced_again):
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


# Calls that look at the model instead of training it.
LOOKS = ("test", "predict", "evaluate")


@dataclass(frozen=True)
class WholeTime:
    """The time from the first step after warm-up to the end of the last epoch, and its parts.

    Args:
        validation_s: inside `evaluate` and its like, or in loops that do not train.
        epoch_callbacks_s: the callbacks' hooks at the begin and end of epochs.
        saves_s: writing models and checkpoints between the steps.
        saves_in_steps_s: the same in the steps, a part of `steps_s`.
        iterator_ends_s: TensorFlow ending the iterators of the epochs.
        epoch_ends_s: what Keras does between the steps of two epochs: iterators, metrics.
        looks_in_steps_s: inside `predict` and its like in the steps, a part of `steps_s`.
        calls_s: setting up further calls of `fit`, and what the script does between them.
    """

    total_s: float
    steps_s: float
    validation_s: float = 0.0
    epoch_callbacks_s: float = 0.0
    saves_s: float = 0.0
    epoch_ends_s: float = 0.0
    calls_s: float = 0.0
    looks_in_steps_s: float = 0.0
    saves_in_steps_s: float = 0.0
    iterator_ends_s: float = 0.0

    @property
    def unattributed_s(self) -> float:
        """What is none of these."""
        known_s = self.validation_s + self.epoch_callbacks_s + self.saves_s + self.epoch_ends_s
        known_s += self.calls_s + self.iterator_ends_s
        return max(self.total_s - self.steps_s - known_s, 0.0)

    @property
    def steps_share(self) -> float:
        """The share of the steps; a gain of the steps is a gain of this part only."""
        return self.steps_s / self.total_s if self.total_s else 1.0


def whole_time(
    process: ProcessRecording, loop: Loop, steps: Steps, epochs: list[Epoch]
) -> WholeTime:
    """Return the time of training with what lies between its steps."""
    seen = [epoch for epoch in epochs if epoch.end_s > steps.begin_s]
    end_s = max([steps.end_s, *(epoch.end_s for epoch in seen)])
    total_s = max(end_s - steps.begin_s, steps.total_s)
    left = _Budget(total_s - steps.total_s)
    looks_s = sum(epoch.validation_s for epoch in seen)
    looks_s += _in_other_loops(process, loop, steps.begin_s, end_s)
    # Where such a call is the step itself, it is no look beside it.
    kinds = tuple(kind for kind in LOOKS if kind != loop.facts.get("head"))
    called_s = calls_s(process, loop.id, kinds) if loop.kind != "fit" else 0.0
    validation_s = left.take(looks_s + called_s)
    hooks_s = sum(
        row["wall_s"]
        for row in process.rows("callbacks")
        if row["loop"] == loop.id and row["hook"] in EPOCH_HOOKS
    )
    ends_s = left.take(calls_s(process, loop.id, ("end",)))
    written_s = calls_s(process, loop.id, ("save",))
    if loop.kind != "fit":
        # After a loop that validates, a save is counted there.
        others = _looking_loops(process, loop)
        written_s += sum(calls_s(process, number, ("save",)) for number in others)
    # In `fit`, only a callback can save: at the end of an epoch, or of a batch.
    saves_s = left.take(min(written_s, hooks_s) if loop.kind == "fit" else written_s)
    return WholeTime(
        total_s,
        steps.total_s,
        validation_s=validation_s,
        epoch_callbacks_s=left.take(hooks_s - saves_s),
        saves_s=saves_s,
        looks_in_steps_s=max(looks_s + called_s - validation_s, 0.0),
        calls_s=left.take(loop.setup_s + loop.outside_s),
        iterator_ends_s=ends_s,
        saves_in_steps_s=max(written_s - saves_s, 0.0),
        epoch_ends_s=left.take(
            _around_epochs_s(seen, steps) - validation_s - ends_s - max(hooks_s, saves_s)
        ),
    )


class _Budget:
    """Time that is given away until none is left: no second is counted twice."""

    def __init__(self, left_s: float) -> None:
        self.left_s = max(left_s, 0.0)

    def take(self, wanted_s: float) -> float:
        taken_s = min(max(wanted_s, 0.0), self.left_s)
        self.left_s -= taken_s
        return taken_s


def calls_s(process: ProcessRecording, loop: int, kinds: tuple[str, ...]) -> float:
    """Return the time a loop's lines spent in calls of some kinds."""
    rows = process.rows("calls")
    return float(sum(r["wall_s"] for r in rows if r["loop"] == loop and r["kind"] in kinds))


def _in_other_loops(process: ProcessRecording, loop: Loop, begin_s: float, end_s: float) -> float:
    """Return the time of the script's loops that only look at the model, on the same thread."""
    others = _looking_loops(process, loop)
    inside = [r for r in process.rows("steps") if r["loop"] in others]
    took = (r["end_s"] - r["begin_s"] for r in inside if begin_s <= r["begin_s"] < end_s)
    return float(sum(took))


def _looking_loops(process: ProcessRecording, loop: Loop) -> set[int]:
    rows = process.rows("loops")
    mine = next((row["thread"] for row in rows if row["id"] == loop.id), None)
    return {
        row["id"]
        for row in rows
        if row["id"] != loop.id
        and row["thread"] == mine
        and not row["facts"].get("trains", row["kind"] == "fit")
    }


def _around_epochs_s(epochs: list[Epoch], steps: Steps) -> float:
    """Return the time between the steps of epochs: before their first and after their last.

    A loop of the script has no epochs of Keras; there it is the time from the last call in one
    epoch to the first call in the next.
    """
    if not epochs:
        return steps.end_s - steps.begin_s - steps.total_s
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for step in steps.steps:
        first.setdefault(step.epoch, step.begin_s)
        last[step.epoch] = step.end_s
    around_s = 0.0
    previous_end_s: float | None = None
    for epoch in epochs:
        if epoch.number not in first:
            continue
        begin_s = epoch.begin_s if previous_end_s is None else min(previous_end_s, epoch.begin_s)
        if epoch.begin_s >= steps.begin_s:
            around_s += max(first[epoch.number] - begin_s, 0.0)
        around_s += max(epoch.end_s - last[epoch.number], 0.0)
        previous_end_s = epoch.end_s
    return around_s


def copies_per_step_s(
    rows: list[dict[str, Any]], loop: int, name: str = "copies_s"
) -> float | None:
    """Return how long values became tensors per step, from short looks; None if not looked at."""
    looks = [row for row in rows if row["loop"] == loop]
    steps = sum(row["steps"] for row in looks)
    return sum(row.get(name) or 0.0 for row in looks) / steps if steps else None
