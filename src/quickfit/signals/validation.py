"""What validation costs: each time, against the training between two of them.

There are three ways to validate: `fit` does it after an epoch, a line of the script or of a
callback calls `evaluate` or `predict`, or the script has a loop of its own for it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from quickfit.findings import Location
from quickfit.signals._facade import Signals
from quickfit.signals.host import SampledStack, package_of
from quickfit.signals.keras_calls import predict_samples
from quickfit.signals.loops import Loop
from quickfit.signals.whole import LOOKS
from quickfit.source.scopes import last_line

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
    last = last_line(signals.source_text(where.file), where.line)
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
