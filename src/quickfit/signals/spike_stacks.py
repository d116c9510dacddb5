"""What the main thread, or the input, was seen doing while steps were slow and not otherwise."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from quickfit.findings import Location
from quickfit.recording.reader import ProcessRecording
from quickfit.signals._facade import Signals
from quickfit.signals._host import is_in_watched_call
from quickfit.signals.host import Frame, SampledStack, Samples, package_of
from quickfit.signals.saves import _writer
from quickfit.signals.spike_windows import Coincidence, Windows, spans_of
from quickfit.signals.spikes import MIN_EXPLAINED, Reason, Spikes

# Methods of a model that look at it.
LOOKS = ("evaluate", "predict", "test_on_batch", "predict_on_batch")
# Where Keras runs the callbacks of a step.
HOOKS = ("_on_train_batch_end", "on_train_batch_end", "on_train_batch_begin", "on_batch_end")
CALLBACK_LIST = "callbacks/callback_list.py"
# Kinds that are told by their line alone; a line that slow steps alone are at, or nearly so.
PLAIN, MIN_TIMES = ("call", "wait", "line"), 4.0
# Fewer samples in slow steps than this say nothing.
MIN_SAMPLES = 3.0


class Doing(NamedTuple):
    """What a stack is about, and the user's line it is at.

    `kind` is `save`, `look` (at the model), `collect` (garbage), `wait` (for a batch), `callback`,
    `call` (into TensorFlow) or `line` (any code besides).
    """

    kind: str
    file: str
    line: int


@dataclass(frozen=True)
class Seen:
    """What was seen during slow steps.

    Args:
        kind: of a `Doing`, or `other`: lines that usual steps are not at, whatever they do.
        share: of the samples that belong to slow steps.
        samples: how many those are, in all.
    """

    kind: str
    location: Location | None
    share: float
    samples: float
    coincidence: Coincidence


def seen_in(signals: Signals, spikes: Spikes) -> list[Seen]:
    """Return what the main thread did during slow steps, the most frequent first."""
    windows, counts = _windows(signals.process, signals, spikes, role="main")
    return _ranked(signals, windows, counts)


def seen_in_input(signals: Signals, spikes: Spikes) -> list[Seen]:
    """Return the lines of the input's Python code that slow steps waited for."""
    found: list[Seen] = []
    for process, role in ((signals.process, "input"), *((p, "main") for p in _workers(signals))):
        windows, counts = _windows(process, signals, spikes, role=role)
        # What it does while steps wait counts, also where it does so all the time.
        found += _ranked(signals, windows, counts, times=0.0)
    return sorted(found, key=lambda seen: seen.samples * seen.share, reverse=True)


def _workers(signals: Signals) -> list[ProcessRecording]:
    return [process for process in signals.recording.others if process.rows("samples")]


def _ranked(
    signals: Signals, windows: Windows, counts: list[Counter[Doing]], *, times: float = 1.0
) -> list[Seen]:
    """Return what belongs to slow steps, so many times as much as to usual ones, or more."""
    in_windows: dict[Doing, dict[int, float]] = defaultdict(dict)
    for place, count in enumerate(counts):
        for doing, seen in count.items():
            in_windows[doing][place] = float(seen)
    told = {doing: windows.rates(values) for doing, values in in_windows.items()}
    rates = {doing: rate for doing, rate in told.items() if rate is not None}
    total, slow_s = sum(slow for _, slow in rates.values()), sum(windows.slow_s)
    if total * slow_s < MIN_SAMPLES:
        return []
    more = {doing: slow for doing, (usual, slow) in rates.items() if slow > times * usual}
    groups: dict[str, list[Doing]] = defaultdict(list)
    for doing in more:
        groups[doing.kind].append(doing)
    groups["other"] = [
        doing
        for doing in more
        if doing.kind in PLAIN and more[doing] > MIN_TIMES * rates[doing][0]
        if not _is_own_input(doing, signals)
    ]
    found = []
    for kind, doings in groups.items():
        if not doings:
            continue
        line = max(doings, key=lambda doing: more[doing])
        happened = [any(doing in count for doing in doings) for count in counts]
        where = signals.location(line.file or None, line.line)
        share = sum(more[doing] for doing in doings) / total
        found.append(Seen(kind, where, share, total * slow_s, windows.coincidence(happened)))
    return sorted(found, key=lambda seen: seen.share, reverse=True)


def _is_own_input(doing: Doing, signals: Signals) -> bool:
    """Tell whether a line is where the training asks for its batches."""
    head, steps = signals.loop.location, len(signals.steps.steps)
    asks = [c for c in signals.calls if c.kind == "next" and c.calls]
    # Most loops ask at their first line; where one does not, it asks about once per step.
    places = [head] if any(c.location == head for c in asks) or not asks else []
    places = places or [c.location for c in asks if c.calls <= 1.5 * steps + 20]
    return any(
        (doing.file, doing.line) == (place.file, place.line)
        for place in places
        if place is not None
    )


def _windows(
    process: ProcessRecording, signals: Signals, spikes: Spikes, *, role: str
) -> tuple[Windows, list[Counter[Doing]]]:
    """Return the windows of the samples, and what was seen in each how often."""
    steps = signals.steps
    known = {
        number: _doing(SampledStack(who, frames, 1), signals)
        for number, (who, frames) in Samples(process)._stacks.items()
        if who == role
    }
    rows = [r for r in process.rows("samples") if steps.begin_s <= r["at_s"] <= steps.end_s + 1.0]
    times = sorted({row["at_s"] for row in rows})
    place = {at_s: number for number, at_s in enumerate(times[1:])}
    counts: list[Counter[Doing]] = [Counter() for _ in place]
    for row in rows:
        doing = known.get(row["stack"])
        if doing is not None and row["at_s"] in place:
            counts[place[row["at_s"]]][doing] += row["seen"]
    return Windows(spans_of(times), spikes.spikes), counts


def _doing(stack: SampledStack, signals: Signals) -> Doing:
    frames = stack.frames
    writer = _writer(stack)
    if writer is not None:
        return _at("save", frames[writer:])
    looks = [number for number, frame in enumerate(frames) if _looks(frame)]
    if looks:
        return _at("look", frames[looks[-1] :])
    if frames and frames[0].is_user and _collects(frames[0], signals):
        return _at("collect", frames)
    if any(f.function == "__next__" and f.file.endswith("iterator_ops.py") for f in frames):
        return _at("wait", frames)
    if any(f.function in HOOKS and f.file.endswith(CALLBACK_LIST) for f in frames):
        return _at("callback", frames)
    return _at("call" if is_in_watched_call(stack) else "line", frames)


def _at(kind: str, frames: tuple[Frame, ...]) -> Doing:
    user = next((frame for frame in frames if frame.is_user), None)
    return Doing(kind, user.file, user.line) if user else Doing(kind, "", 0)


def _looks(frame: Frame) -> bool:
    return frame.function in LOOKS and package_of(frame.file) in ("keras", "tf_keras")


def _collects(frame: Frame, signals: Signals) -> bool:
    where = signals.location(frame.file, frame.line)
    return where is not None and "collect(" in where.text


def sampled(signals: Signals, spikes: Spikes, seen: list[Seen], kind: str) -> Reason | None:
    """Return what most samples in slow steps are about, where the others are not."""
    found = next((one for one in seen if one.kind == kind), None)
    if found is None or found.share < MIN_EXPLAINED:
        return None
    coincidence = found.coincidence
    # Where slow steps are never far, the clock must say that it is no part of a usual step.
    is_timed = spikes.part_share("callbacks") + spikes.part_share("between") >= MIN_EXPLAINED
    is_chance = coincidence.is_by_chance and (coincidence.is_told_apart or not is_timed)
    if coincidence.hit_share < MIN_EXPLAINED or is_chance:
        return None
    how = (
        f"{found.samples:.0f} samples in slow steps; also seen in {coincidence.others} of"
        f" {coincidence.windows} half seconds without one"
    )
    hits, measured = coincidence.hits, coincidence.spikes
    where = found.location or signals.loop.location
    return Reason(kind, hits, measured, found.share, how, where=where, part=part_of(spikes))


def part_of(spikes: Spikes) -> str:
    """Return the part of the breakdown that most of the slow steps' time lies in."""
    parts = {"callbacks": "callbacks", "between": "between", "wait": "input_wait"}
    inside = [name for part, name in parts.items() if spikes.part_share(part) >= MIN_EXPLAINED]
    return inside[0] if inside else "step"
