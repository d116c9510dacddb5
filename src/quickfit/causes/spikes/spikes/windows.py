"""Windows of time with and without slow steps, and what was seen in the one and not the other."""

from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from quickfit.findings import Location
from quickfit.recording.reader import ProcessRecording
from quickfit.signals._host import is_in_watched_call
from quickfit.signals.around_steps import _writer
from quickfit.signals.spikes import MIN_EXPLAINED, Reason, Spike, Spikes
from quickfit.signals.stacks import Frame, SampledStack, Samples, package_of

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# Windows that were merged, in a long run, say nothing about a single step.
MAX_WINDOW_S = 5.0
# A window with less of slow steps than this is one without.
CLEAN = 0.02
# With fewer of those there is nothing to compare with.
MIN_CLEAN = 3
# The two kinds of seconds must differ between windows, to be told apart.
MIN_DIFFERENCE = 1e-3
# A coincidence is none of chance below this.
MAX_CHANCE = 0.01


@dataclass(frozen=True)
class Coincidence:
    """How often something happened with a slow step and without one.

    Args:
        hits: slow steps during which it happened.
        spikes: slow steps that could be looked at.
        others: windows without a slow step in which it happened as well.
        windows: windows without a slow step.
        reach: windows that a slow step lies in, on average.
        hit_share: of the slow steps' extra time, that of those during which it happened.
    """

    hits: int
    spikes: int
    others: int
    windows: int
    reach: float = 1.0
    hit_share: float = 0.0

    @property
    def is_told_apart(self) -> bool:
        """Whether there was enough time without slow steps to compare with."""
        return self.windows >= MIN_CLEAN

    @property
    def is_by_chance(self) -> bool:
        """Whether it happens as often without slow steps, or might as well."""
        if not self.is_told_apart:
            return True
        once = (self.others + 1) / (self.windows + 2)
        usual = 1 - (1 - once) ** self.reach
        return self.hits == 0 or at_least(self.hits, self.spikes, usual) > MAX_CHANCE


class Windows:
    """Spans of time, and how much of each one slow steps took."""

    def __init__(self, spans: Sequence[tuple[float, float]], spikes: Sequence[Spike]) -> None:
        self.spans = spans
        self._spikes = spikes
        begins = [spike.begin_s for spike in spikes]
        # Which slow steps lie in a window, at least in part. They are in order.
        self.inside: list[list[int]] = []
        self.slow_s: list[float] = []
        for begin_s, end_s in spans:
            first = max(bisect.bisect_right(begins, begin_s) - 1, 0)
            last = bisect.bisect_left(begins, end_s)
            shared = [(n, _shared_s(spikes[n], begin_s, end_s)) for n in range(first, last)]
            self.inside.append([n for n, s in shared if s > 0])
            self.slow_s.append(sum(s for _, s in shared))
        self.rest_s = [max(b - a - s, 0.0) for (a, b), s in zip(spans, self.slow_s, strict=True)]

    @cached_property
    def _products(self) -> tuple[float, float, float]:
        """Sums of products of the usual and the slow seconds of all windows."""
        pairs = list(zip(self.rest_s, self.slow_s, strict=True))
        return (
            sum(r * r for r, _ in pairs),
            sum(s * s for _, s in pairs),
            sum(r * s for r, s in pairs),
        )

    def rates(self, values: Mapping[int, float]) -> tuple[float, float] | None:
        """Return how much of a quantity belongs to a usual second, and to a slow one.

        None where windows that are too much alike do not tell.

        Args:
            values: what windows have of it, by their place; the others have nothing.
        """
        usual = sum(self.rest_s[n] * value for n, value in values.items())
        slow = sum(self.slow_s[n] * value for n, value in values.items())
        return _solved(*self._products, usual, slow)

    def coincidence(self, happened: Sequence[bool]) -> Coincidence:
        """Return how often something happened with slow steps and without."""
        seen: set[int] = set()
        hit: set[int] = set()
        others = windows = 0
        for n, numbers in enumerate(self.inside):
            begin_s, end_s = self.spans[n]
            seen.update(numbers)
            if happened[n]:
                hit.update(numbers)
            if self.slow_s[n] <= CLEAN * (end_s - begin_s):
                windows += 1
                others += happened[n]
        reach = sum(map(len, self.inside)) / len(seen) if seen else 1.0
        hit_s, seen_s = (sum(self._spikes[n].extra_s for n in some) for some in (hit, seen))
        share = hit_s / seen_s if seen_s else 0.0
        return Coincidence(len(hit), len(seen), others, windows, reach, share)


def spans_of(times: Sequence[float]) -> list[tuple[float, float]]:
    """Return the spans between readings; one that is too long has no length."""
    pairs = itertools.pairwise(times)
    return [(a, b) if b - a <= MAX_WINDOW_S else (b, b) for a, b in pairs]


def _shared_s(spike: Spike, begin_s: float, end_s: float) -> float:
    return max(min(spike.end_s, end_s) - max(spike.begin_s, begin_s), 0.0)


def fitted(
    rest: Sequence[float], slow: Sequence[float], values: Sequence[float]
) -> tuple[float, float] | None:
    """Return how much belongs to a usual second and to a slow one, by least squares."""
    rows = list(zip(rest, slow, values, strict=True))
    return _solved(
        sum(r * r for r, _, _ in rows),
        sum(s * s for _, s, _ in rows),
        sum(r * s for r, s, _ in rows),
        sum(r * v for r, _, v in rows),
        sum(s * v for _, s, v in rows),
    )


def _solved(
    rr: float, ss: float, rs: float, rest_value: float, slow_value: float
) -> tuple[float, float] | None:
    """Solve the two equations of a fit with two unknowns, neither of which is negative."""
    determinant = rr * ss - rs * rs
    if not ss:
        return None
    if not rr:
        return 0.0, max(slow_value / ss, 0.0)
    if determinant < MIN_DIFFERENCE * rr * ss:
        return None
    during = max((rr * slow_value - rs * rest_value) / determinant, 0.0)
    usual = max((rest_value - rs * during) / rr, 0.0)
    return usual, during


def at_least(hits: int, tries: int, chance: float) -> float:
    """Return how likely so many hits are by chance alone."""
    if not hits or chance >= 1.0:
        return 1.0
    if chance <= 0.0:
        return 0.0
    yes, no = math.log(chance), math.log1p(-chance)
    # In logarithms: the numbers of ways are too large for a float.
    ways = (math.lgamma(tries + 1) - math.lgamma(k + 1) - math.lgamma(tries - k + 1)
            for k in range(hits, tries + 1))  # fmt: skip
    parts = (w + k * yes + (tries - k) * no for k, w in enumerate(ways, start=hits))
    return min(sum(math.exp(part) for part in parts), 1.0)


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
