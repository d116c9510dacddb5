"""The line whose time grows: stacks of the last part of a run against those of the first.

Not the line that takes most: a slow line that is as slow as ever slows nothing down.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from quickfit.findings import Location
from quickfit.recording.reader import ProcessRecording
from quickfit.signals._facade import Signals
from quickfit.signals._host import is_in_watched_call
from quickfit.signals.drift import Slowdown
from quickfit.signals.host import Frame, SampledStack, Samples, package_of
from quickfit.signals.timed_stacks import timed_stacks

# The first and the last part of the steps that are compared.
PART = 0.25
# Samples that came less often than this are chance: seconds in the last part.
MIN_SEEN_S = 0.15
HOOKS = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")
EPOCH_HOOKS = ("on_epoch_begin", "on_epoch_end")
_CALLBACK_LISTS = "/callback_list.py"

Frames = tuple[Frame, ...]
Inside = Callable[[Frames], bool]
Span = tuple[float, float, float]  # from when to when, and how many steps it has


@dataclass(frozen=True)
class GrownLine:
    """A user's line, what it took per step at first and at the end, and what all lines grew by.

    Args:
        frames: a stack of the last part with it, innermost frame first.
    """

    location: Location
    first_s: float
    last_s: float
    grown_s: float
    frames: Frames

    @property
    def growth_s(self) -> float:
        """How much longer a step is at this line."""
        return self.last_s - self.first_s


def spans(signals: Signals) -> tuple[Span, Span]:
    """Return the first and the last part of the steps."""
    steps = signals.whole_turns.steps
    part = max(int(PART * len(steps)), 1)
    early, late = steps[:part], steps[-part:]
    return (
        (early[0].end_s - early[0].cycle_s, early[-1].end_s, float(part)),
        (late[0].end_s - late[0].cycle_s, late[-1].end_s, float(part)),
    )


def grown_line(
    signals: Signals,
    inside: Inside,
    parts: tuple[Span, Span] | None = None,
    slow: Slowdown | None = None,
) -> GrownLine | None:
    """Return the line of the main thread that takes more time per step than at first.

    Args:
        signals: of the run.
        inside: whether a stack belongs to what is looked at.
        parts: what to compare; by default the first and the last quarter of the steps.
        slow: how the run slowed down; where waiting for a core is left out of that, it is here.
    """
    early, late = parts or spans(signals)
    before, after = _main(signals, early, inside), _main(signals, late, inside)
    if slow is not None and slow.is_calm:
        before, after = (
            _as_long_as(before, early, slow.first_s),
            _as_long_as(after, late, slow.last_s),
        )
    return _grown(signals, before, after, late)


def _as_long_as(
    stacks: Iterable[tuple[Frames, float]], span: Span, step_s: float
) -> Iterable[tuple[Frames, float]]:
    """Yield stacks with the seconds they would have in steps of that length."""
    begin_s, end_s, steps = span
    part = step_s * steps / max(end_s - begin_s, 1e-9)
    return ((frames, seconds * part) for frames, seconds in stacks)


def grown_input_line(signals: Signals, parts: tuple[Span, Span] | None = None) -> GrownLine | None:
    """Return the line of the threads and processes that make the input which takes more time."""
    early, late = parts or spans(signals)
    return _grown(signals, _input(signals, early), _input(signals, late), late)


def _main(signals: Signals, span: Span, inside: Inside) -> Iterable[tuple[Frames, float]]:
    begin_s, end_s, steps = span
    for stack in timed_stacks(signals.process, begin_s, end_s, wanted=lambda *_: True):
        if inside(stack.frames):
            yield stack.frames, stack.seconds / steps


def _input(signals: Signals, span: Span) -> Iterable[tuple[Frames, float]]:
    begin_s, end_s, steps = span
    roles = ((signals.process, ("input",)), *((p, ("main", "input")) for p in _workers(signals)))
    for process, wanted in roles:
        stacks = Samples(process).between(begin_s, end_s - 1.0)
        # Every sample looks at all threads; the main one is there in each of them.
        looks = sum(stack.seen for stack in stacks if stack.role == "main")
        for stack in stacks:
            if stack.role in wanted and looks:
                yield stack.frames, (end_s - begin_s) * stack.seen / looks / steps


def _workers(signals: Signals) -> list[ProcessRecording]:
    own = signals.process.path
    return [process for process in signals.recording.others if process.path != own]


def _grown(
    signals: Signals,
    before: Iterable[tuple[Frames, float]],
    after: Iterable[tuple[Frames, float]],
    late: Span,
) -> GrownLine | None:
    first = _by_line(before)
    last = _by_line(after)
    if not last:
        return None
    key = max(last, key=lambda line: last[line][0] - _seconds(first, line))
    first_s, last_s = _seconds(first, key), last[key][0]
    location = signals.location(*key)
    if location is None or last_s <= first_s or last_s * late[2] < MIN_SEEN_S:
        return None
    grown_s = sum(seconds for seconds, _ in last.values()) - sum(s for s, _ in first.values())
    return GrownLine(location, first_s, last_s, grown_s, last[key][1])


Lines = dict[tuple[str, int], tuple[float, Frames]]


def _seconds(lines: Lines, key: tuple[str, int]) -> float:
    return lines[key][0] if key in lines else 0.0


def _by_line(stacks: Iterable[tuple[Frames, float]]) -> Lines:
    """Return the time at or below each user's line, and a stack that has it."""
    seconds: defaultdict[tuple[str, int], float] = defaultdict(float)
    shown: dict[tuple[str, int], Frames] = {}
    for frames, spent_s in stacks:
        user = next((frame for frame in frames if frame.is_user), None)
        if user is not None:
            seconds[user.file, user.line] += spent_s
            shown.setdefault((user.file, user.line), frames)
    return {key: (spent_s, shown[key]) for key, spent_s in seconds.items()}


def in_batch_hook(frames: Frames) -> bool:
    """Tell whether a stack is inside a callback's work around a batch."""
    return _is_in_hook(frames, HOOKS)


def in_epoch_hook(frames: Frames) -> bool:
    """Tell whether a stack is inside a callback's work around an epoch."""
    return _is_in_hook(frames, EPOCH_HOOKS)


def _is_in_hook(frames: Frames, hooks: tuple[str, ...]) -> bool:
    return any(f.file.endswith(_CALLBACK_LISTS) and f.function.lstrip("_") in hooks for f in frames)


def in_host_code(frames: Frames) -> bool:
    """Tell whether a stack is in Python of the script: no callback, no call that is timed itself.

    Where a model's layers are on it, the model computes; that grows with its batches.
    """
    if in_batch_hook(frames) or in_epoch_hook(frames):
        return False
    return not is_in_watched_call(SampledStack("main", frames, 1)) and not in_model(frames)


def in_own_code(frames: Frames) -> bool:
    """Tell the same of what lies between epochs, where TensorFlow also makes the next iterator."""
    return in_host_code(frames) and not _is_setting_up(frames)


def _is_setting_up(frames: Frames) -> bool:
    """Tell whether Keras's `fit`, or a dataset, runs below the user's line."""
    for frame in frames:
        if frame.is_user:
            return False
        if "/tensorflow/python/data/" in frame.file or frame.function == "fit":
            return True
    return False


def in_model(frames: Frames) -> bool:
    """Tell whether layers of Keras run below the user's line."""
    for frame in frames:
        if frame.is_user:
            return False
        if "/keras/src/layers/" in frame.file or "/keras/src/models/" in frame.file:
            return True
    return False


def in_tensorflow(frames: Frames) -> bool:
    """Tell whether TensorFlow or Keras runs below the user's line."""
    for frame in frames:
        if frame.is_user:
            return False
        if package_of(frame.file) in ("tensorflow", "keras"):
            return True
    return False
