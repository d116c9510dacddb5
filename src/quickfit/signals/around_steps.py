"""What validation and saving cost between the steps of a training."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickfit.code.lines import loop_end
from quickfit.findings import Location
from quickfit.signals.keras_calls import predict_samples
from quickfit.signals.loops import Call, Loop
from quickfit.signals.stacks import Frame, SampledStack, package_of
from quickfit.signals.steps import LOOKS

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# `predict` is a validation where it is seldom called, takes as long as some steps, and does so
# because of its rows; else it belongs to the training, or is slow by itself.
MAX_PREDICTS_PER_STEP, MIN_STEPS_LONG, MIN_ROWS_SHARE = 0.2, 3.0, 0.2
# Never more of the time than this.
MOST = 0.98


@dataclass(frozen=True)
class Validation:
    """The validations of a training loop, without the first one: that compiles.

    Args:
        way: `epochs` (by `fit`), `calls` (by a line) or `loop` (by a loop of the script).
        times: how many there were, without the first.
        each_s: how long one takes.
        training_s: how long training takes between two of them.
        share: of the whole time.
        sampled_share: of the main thread's samples that are in it.
        samples: how many there are.
        location: the line that validates, where it is not the one that trains.
    """

    way: str
    times: int
    each_s: float
    training_s: float
    share: float
    sampled_share: float
    samples: int
    location: Location | None = None


def validation(signals: Signals) -> Validation | None:
    """Return the validation that costs most; None where nothing validates after the first time."""
    if not signals.whole_time.total_s:
        return None
    found = [_of_epochs(signals), _of_loops(signals), _of_calls(signals)]
    return max((one for one in found if one is not None), key=lambda v: v.share, default=None)


def _of_epochs(signals: Signals) -> Validation | None:
    """Return what Keras validates at the end of epochs."""
    epochs = [epoch for epoch in signals.epochs if epoch.validation_s][1:]
    if not epochs:
        return None
    each_s = statistics.median(epoch.validation_s for epoch in epochs)
    later = signals.epochs[1:]
    # An epoch that `validation_freq` leaves out has training only.
    per_epoch = len(epochs) / len(later)
    trained_s = statistics.median(e.end_s - e.begin_s - e.validation_s for e in later)
    share = each_s * per_epoch / (each_s * per_epoch + trained_s)
    # The whole has calls of `fit` and more in it: no more than was measured there.
    whole = signals.whole_time
    share = min(share, sum(epoch.validation_s for epoch in signals.epochs) / whole.total_s)
    seen = _sampled(signals, _evaluates)
    return Validation("epochs", len(epochs), each_s, trained_s / per_epoch, share, *seen)


def _of_calls(signals: Signals) -> Validation | None:
    """Return what the line costs that spends most in looking at the model."""
    for call in signals.calls:
        where, times = call.location, call.calls - 1
        if call.kind not in LOOKS or where is None or times < 1:
            continue
        if not _is_beside(signals, call.loop):
            continue
        each_s = (call.wall_s - call.longest_s) / times
        if call.kind == "predict" and not _is_validation(signals, where, call.calls, each_s):
            continue
        seen = _sampled_at(signals, where, where.line)
        return _found(signals, "calls", times, each_s, seen, where)
    return None


def _is_beside(signals: Signals, number: int) -> bool:
    """Tell whether calls in a loop of a number come while the training goes on, not after it."""
    loop = signals.loop
    if number == loop.id:
        return True
    if not number:  # outside any loop: between two calls of `fit`, or before and after one
        return loop.kind != "fit" or loop.outside_s > 0
    rows = (row for row in signals.recorded_process.rows("loops") if row["id"] == number)
    return any(loop.begin_s <= row["begin_s"] <= loop.end_s for row in rows)


def _is_validation(signals: Signals, where: Location, calls: int, each_s: float) -> bool:
    steps = signals.steps
    if calls > MAX_PREDICTS_PER_STEP * len(steps.steps):
        return False
    seen = predict_samples(signals.main_stacks(), where)
    return each_s >= MIN_STEPS_LONG * steps.median_s and seen.rows_share > MIN_ROWS_SHARE


def _of_loops(signals: Signals) -> Validation | None:
    """Return what the script's longest loop costs that only looks at the model."""
    loop = signals.loop
    looking = [
        other
        for other in signals.loops
        if _looks(other) and other.id != loop.id and loop.begin_s <= other.begin_s <= loop.end_s
    ]
    longest = max(looking, key=lambda other: other.duration_s, default=None)
    if longest is None or longest.location is None:
        return None
    rows = [row for row in signals.process.rows("steps") if row["loop"] == longest.id]
    times = len({row["epoch"] for row in rows}) - 1
    if times < 1:
        return None
    looked_s = sum(row["end_s"] - row["begin_s"] for row in rows)
    looked_s = max(looked_s - _traced_s(signals, longest.id), 0.0)
    where = longest.location
    last = loop_end(signals.source_text(where.file), where.line)
    seen = _sampled_at(signals, where, last)
    return _found(signals, "loop", times, looked_s / (times + 1), seen, where)


def _looks(loop: Loop) -> bool:
    """Tell whether a loop of the script validates: not one inside `evaluate`, which is a call.

    Where each turn calls `predict`, it may as well play a game, or be slow for that reason.
    """
    is_call = loop.kind in ("predict", "evaluate") and "head" not in loop.facts
    return not loop.trains and not is_call and loop.facts.get("head") != "predict"


def _found(
    signals: Signals,
    way: str,
    times: int,
    each_s: float,
    seen: tuple[float, int],
    where: Location,
) -> Validation:
    whole_s = signals.whole_time.total_s
    share = min(times * each_s / whole_s, MOST)
    return Validation(way, times, each_s, whole_s * (1 - share) / times, share, *seen, where)


def _traced_s(signals: Signals, loop: int) -> float:
    """Return how long a loop compiled."""
    rows = signals.process.rows("traces")
    return float(sum(r["duration_s"] for r in rows if r["loop"] == loop and not r["nested"]))


def _sampled_at(signals: Signals, where: Location, last: int) -> tuple[float, int]:
    """Return the share of the samples that are at the lines from a place on, and all."""
    return _sampled(
        signals,
        lambda stack: any(
            f.file == where.file and where.line <= f.line <= last for f in stack.frames if f.is_user
        ),
    )


def _sampled(signals: Signals, is_in: Callable[[SampledStack], bool]) -> tuple[float, int]:
    """Return the share of the main thread's samples of which something is true, and all."""
    stacks = signals.main_stacks()
    total = sum(stack.seen for stack in stacks)
    inside = sum(stack.seen for stack in stacks if is_in(stack))
    return (inside / total if total else 0.0), total


def _evaluates(stack: SampledStack) -> bool:
    return any(f.function == "evaluate" and package_of(f.file) == "keras" for f in stack.frames)


# Functions of Keras and TensorFlow that write a model; on a stack, they are at it.
WRITERS = {
    *("save", "save_model", "save_weights", "save_weights_only", "_save_model", "write"),
    *("save_model_to_hdf5", "_save_state", "_save_model_to_fileobj", "export"),
}
# Callbacks of Keras that do nothing else.
SAVERS = ("ModelCheckpoint", "BackupAndRestore")
# A line that saves once or twice is no part of the loop around it.
MIN_CALLS = 3


@dataclass(frozen=True)
class Saves:
    """The saves of a training loop.

    Args:
        count: how many were timed; none where only the samples know of them.
        total_s: how long they took, after warm-up.
        each_s: how long one takes.
        longest_s: and how long at most.
        share: of the whole time.
        location: the line that saves most; for a callback of Keras, the call of `fit`.
        sampled_share: of the main thread's samples that are in a save.
        samples: how many there are.
        moments: at how many different times a save was seen by the samples, where no one timed it.
        free_s: and how long the training was outside its steps' calls, which is the most it takes.
    """

    count: int
    total_s: float
    each_s: float
    longest_s: float
    share: float
    location: Location | None
    sampled_share: float
    samples: int
    moments: int = 0
    free_s: float = 0.0


def saves(signals: Signals) -> Saves | None:
    """Return what saving costs the training loop; None where nothing was saved."""
    whole = signals.whole_time
    calls, outside = _calls(signals), _calls_outside(signals)
    count = sum(call.calls for call in (*calls, *outside))
    total_s = whole.saves_s + whole.saves_in_steps_s
    total_s += min(sum(call.wall_s for call in outside), signals.loop.outside_s)
    if not whole.total_s:
        return None
    if not count or not total_s:
        return _only_seen(signals)
    found = sorted((*calls, *outside), key=lambda call: call.wall_s, reverse=True)
    return Saves(
        count,
        total_s,
        sum(call.wall_s for call in found) / count,
        max(call.longest_s for call in found),
        min(total_s / whole.total_s, 1.0),
        found[0].location,
        *_sampled_saving_s(signals.main_stacks()),
    )


def _only_seen(signals: Signals) -> Saves | None:
    """Return what the samples know of saves that nobody timed, such as `save_model`.

    The clock has to agree: the time outside the calls of the step is the most they can take.
    """
    stacks = signals.main_stacks()
    share, samples = _sampled_saving_s(stacks)
    whole, steps = signals.whole_time, signals.steps
    in_steps_s = steps.mean_s - steps.mean_of("call_s") - steps.mean_of("wait_s")
    free_s = in_steps_s * len(steps.steps) + whole.total_s - whole.steps_s - whole.validation_s
    total_s = min(share * whole.total_s, max(free_s, 0.0))
    if not total_s:
        return None
    cost, where = total_s / whole.total_s, _line(stacks, signals)
    return Saves(0, total_s, 0.0, 0.0, cost, where, share, samples, _moments(signals), free_s)


def saves_per_step_s(signals: Signals) -> float:
    """Return how long a step saves, on average."""
    steps = signals.all_steps
    count = len(steps.steps) if steps else 0
    return signals.whole_time.saves_in_steps_s / count if count else 0.0


def _calls(signals: Signals) -> list[Call]:
    """Return the calls that save, of the loop and of loops beside it that look at the model."""
    loops = {signals.loop.id}
    if signals.loop.kind != "fit":
        loops |= {loop.id for loop in signals.loops if not loop.trains}
    return [c for c in signals.calls if c.kind == "save" and c.loop in loops]


def _calls_outside(signals: Signals) -> list[Call]:
    """Return the calls that save between one call of `fit` and the next."""
    if signals.loop.kind != "fit" or not signals.loop.outside_s:
        return []
    found = [c for c in signals.calls if c.kind == "save" and c.loop != signals.loop.id]
    return [call for call in found if call.calls >= MIN_CALLS]


def is_saving(stack: SampledStack) -> bool:
    """Tell whether a thread was writing a model when its stack was seen."""
    return _writer(stack) is not None


def _writer(stack: SampledStack) -> int | None:
    """Return which frame of a stack writes a model, the outermost one, or None."""
    found = [number for number, frame in enumerate(stack.frames) if _writes(frame)]
    return found[-1] if found else None


def _writes(frame: Frame) -> bool:
    if frame.is_user or frame.function not in WRITERS:
        return False
    return package_of(frame.file) in ("keras", "tensorflow", "tf_keras")


def _sampled_saving_s(stacks: list[SampledStack]) -> tuple[float, int]:
    """Return the share of the main thread's samples that are in a save, and all samples."""
    total = sum(stack.seen for stack in stacks)
    inside = sum(stack.seen for stack in stacks if is_saving(stack))
    return (inside / total if total else 0.0), total


def _line(stacks: list[SampledStack], signals: Signals) -> Location | None:
    """Return the user's line that was seen saving most."""
    lines: Counter[tuple[str, int]] = Counter()
    for stack in stacks:
        number = _writer(stack)
        below = stack.frames[number:] if number is not None else ()
        user = next((frame for frame in below if frame.is_user), None)
        if user is not None:
            lines[user.file, user.line] += stack.seen
    return signals.location(*lines.most_common(1)[0][0]) if lines else None


def _moments(signals: Signals) -> int:
    """Return at how many different times a save was seen."""
    process, steps = signals.process, signals.steps
    rows = process.rows("frames")
    frames = [(r["id"], Frame(r["file"], r["line"], r["function"], r["is_user"])) for r in rows]
    writing = {number for number, frame in frames if _writes(frame)}
    stacks = {row["id"] for row in process.rows("stacks") if writing.intersection(row["frames"])}
    times = {row["at_s"] for row in process.rows("samples") if row["stack"] in stacks}
    return sum(steps.begin_s <= at_s <= steps.end_s for at_s in times)
