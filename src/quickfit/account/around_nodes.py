"""What a run does outside its loops: imports, data, models, saving, and Python, by line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from quickfit.account.sampled import LineTimes, innermost_user_line, place_of
from quickfit.account.step_parts import ITERATOR_ENDS
from quickfit.account.timeline import Gap
from quickfit.findings import AccountNode
from quickfit.signals import Signals
from quickfit.signals.around_steps import WRITERS
from quickfit.signals.gains import share_interval
from quickfit.signals.stacks import Frame, activity, is_in_fit

LABELS = {
    "imports": "imports",
    "data": "data",
    "model": "building the model",
    "tracing": "tracing and compiling",
    "saving": "saving",
    "predicting": "predict",
    "evaluating": "evaluate",
    "calling": "calling the model",
    "iterator_ends": ITERATOR_ENDS,
    "setup": "setting up `fit`",
    "other": "Python",
}
# A gap shorter than this has no windows of samples of its own.
LONG_GAP_S = 0.5
_TRAINER_CALLS = {"predict": "predicting", "evaluate": "evaluating"}


def around_node(signals: Signals, gaps: Sequence[Gap], name: str, label: str) -> AccountNode | None:
    """Return the node of time outside loops, split by what was done there; None without any."""
    total_s = sum(gap.duration_s for gap in gaps)
    if total_s <= 0:
        return None
    sums = _activities(signals, gaps, total_s)
    samples = sum(times.samples for times in sums.values())
    children = [
        _activity_node(signals, kind, times, total_s, samples) for kind, times in sums.items()
    ]
    children.sort(key=lambda node: node.seconds, reverse=True)
    where = children[0].where if children and children[0].seconds > 0.5 * total_s else None
    return AccountNode(
        name, label, total_s, total_s, total_s, 0.0, len(gaps), where, children=tuple(children)
    )


def _activities(signals: Signals, gaps: Sequence[Gap], total_s: float) -> dict[str, LineTimes]:
    """Return what was done in gaps, by kind and line, scaled to their total."""
    sums: dict[str, LineTimes] = defaultdict(LineTimes)
    short_s = 0.0
    for gap in gaps:
        stacks = []
        if gap.duration_s >= LONG_GAP_S or len(gaps) == 1:
            stacks = signals.stack_clock.between(
                gap.begin_s, gap.end_s, wanted=_before_loops if not gap.after else _outside_fit
            )
        if not stacks:
            short_s += gap.duration_s
        for stack in stacks:
            kind, line = activity_of(stack.frames, signals)
            sums[kind].add(line, stack.seconds, stack.seen)
    if short_s > 0:
        _add_short(signals, gaps, sums, short_s)
    return sums


def _before_loops(frames: Sequence[Frame], loop: int | None) -> bool:
    """Tell whether a stack was seen before any loop; of a loop's samples, none are."""
    return loop is None and not is_in_fit(frames)


def _outside_fit(frames: Sequence[Frame], loop: int | None) -> bool:
    return not is_in_fit(frames)


def _add_short(
    signals: Signals, gaps: Sequence[Gap], sums: dict[str, LineTimes], short_s: float
) -> None:
    """Split many short gaps by the samples outside `fit` while they came and went."""
    begin_s, end_s = gaps[0].begin_s, gaps[-1].end_s
    stacks = signals.stack_clock.between(begin_s, end_s, wanted=lambda frames, loop: True)
    outside = [s for s in stacks if not is_in_fit(s.frames) and not _is_in_loop_call(s.frames)]
    seen_s = sum(stack.seconds for stack in outside)
    if len(gaps) == 1 or seen_s <= 0:
        sums["other"].add(None, short_s, 0)
        return
    for stack in outside:
        kind, line = activity_of(stack.frames, signals)
        sums[kind].add(line, stack.seconds * short_s / seen_s, stack.seen)


def _is_in_loop_call(frames: Iterable[Frame]) -> bool:
    return any(f.function in _TRAINER_CALLS and f.file.endswith("/trainer.py") for f in frames)


def activity_of(frames: Sequence[Frame], signals: Signals) -> tuple[str, Frame | None]:
    """Return what a stack outside a loop was about, and the user's line it was at."""
    line = innermost_user_line(frames)
    inner = frames[: frames.index(line)] if line is not None else frames
    for frame in inner:
        if frame.file.endswith("/trainer.py") and frame.function in _TRAINER_CALLS:
            return _TRAINER_CALLS[frame.function], line
        if frame.function in WRITERS and "/keras/src/saving/" in frame.file:
            return "saving", line
    found = activity(frames, signals.location)
    if found.name == "first_batch" or (found.name == "other" and is_in_fit(inner)):
        return "setup", line
    if found.name == "other" and line is not None and not inner and _ends_iterators(signals, line):
        return "iterator_ends", line
    return found.name, line


def _ends_iterators(signals: Signals, line: Frame) -> bool:
    """Tell whether a line is the head of a loop over a dataset whose iterators took time to end.

    That is inside no call: the `for` lets go of its iterator, and TensorFlow waits.
    """
    return any(
        call.kind == "end"
        and call.location is not None
        and (call.location.file, call.location.line) == (line.file, line.line)
        for call in signals.calls
    )


def _activity_node(
    signals: Signals, kind: str, times: LineTimes, total_s: float, samples: float
) -> AccountNode:
    seconds = times.total_s
    low, high = share_interval(min(seconds / total_s, 1.0), samples)
    # Where imports come from is the head of every script; what they take is the libraries'.
    lines = [] if kind == "imports" else times.hottest()
    children = tuple(
        _line_node(signals, frame, line_s, total_s, samples) for frame, line_s in lines
    )
    label = LABELS.get(kind, kind)
    where = children[0].where if children else None
    return AccountNode(
        kind,
        label,
        seconds,
        min(total_s * low, seconds),
        max(total_s * high, seconds),
        0.0,
        where=where,
        detail=f"{samples:.0f} samples" if samples else "",
        children=children,
    )


def _line_node(
    signals: Signals, frame: Frame, line_s: float, total_s: float, samples: float
) -> AccountNode:
    where = place_of(signals, frame)
    low, high = share_interval(min(line_s / total_s, 1.0), samples)
    label = where.text if where is not None and where.text else frame.function
    return AccountNode(
        "line", label, line_s, min(total_s * low, line_s), total_s * high, 0.0, where=where
    )
