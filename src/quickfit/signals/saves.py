"""What saving costs: how often models and checkpoints are written, and how long that takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from quickfit.findings import Location
from quickfit.signals._facade import Signals
from quickfit.signals.host import Frame, SampledStack, package_of
from quickfit.signals.loops import Call

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
        *_sampled(signals.main_stacks()),
    )


def _only_seen(signals: Signals) -> Saves | None:
    """Return what the samples know of saves that nobody timed, such as `save_model`.

    The clock has to agree: the time outside the calls of the step is the most they can take.
    """
    stacks = signals.main_stacks()
    share, samples = _sampled(stacks)
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


def _sampled(stacks: list[SampledStack]) -> tuple[float, int]:
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
