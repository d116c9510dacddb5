"""What stays alive step after step: what the script's names hold, and the line that keeps it."""

from __future__ import annotations

import bisect
import itertools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quickfit.code.keras_models import functions_of_training, loop_lines
from quickfit.code.leaks import Addition, Keeper, additions_to, keepers, line_of_function
from quickfit.findings import Location
from quickfit.signals.memory import (
    GrowingLine,
    Growth,
    Point,
    large_bytes,
    memory_limit,
    own_points,
)

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# Two rates at least, of which the last ones are this share of the mean: what fills up slows down.
MIN_RATES = 2
MIN_END_SHARE = 0.4
# The memory of the process grows by this share of what a name holds more; a name may hold what was
# there before.
MIN_AGREEMENT = 0.5
# Less is no growth to speak of.
MIN_GROWN_BYTES = 30_000_000
# A name for one thing, not for a container of many.
SINGLE = ("variable", "tensor", "array")

Name = tuple[str, str, str]  # file, function or class, name


@dataclass(frozen=True)
class HolderGrowth:
    """How what a name holds grew with the steps of the main loop.

    Args:
        growth: bytes, over the looks in the loop.
        items_per_step: how many more things are in it with every step.
        low: bytes per step, the least between two looks.
        high: and the most.
        goes_on: it still grows at the end as it did on the whole.
        process_bytes: the growth of the process in the same time.
    """

    growth: Growth
    items_per_step: float
    low: float
    high: float
    goes_on: bool
    process_bytes: float


@dataclass(frozen=True)
class Holder:
    """Something the script gave a name, and what it held at each look.

    Args:
        name: as it is written: `history`, `self.kept`.
        scope: the function or class the name belongs to; empty for a global.
        kind: `list`, `dict`, `array`, `variable`, ….
        content: what most of its bytes are: `tensors`, `arrays`, `variables` or `plain`.
        bound: how many things it can hold; None where nothing bounds it.
        looks: time, bytes and number of things, in order.
        location: the line that adds to it; None where the text does not tell.
        is_by_key: that line puts things under keys, as into a cache.
    """

    name: str
    scope: str
    kind: str
    content: str
    bound: int | None
    looks: tuple[tuple[float, int, int], ...]
    location: Location | None
    is_by_key: bool

    @property
    def held_bytes(self) -> int:
        """What it held at the last look that saw it."""
        return self.looks[-1][1]

    @property
    def items(self) -> int:
        """How many things it held then."""
        return self.looks[-1][2]

    @property
    def to_come_bytes(self) -> float | None:
        """What still fits in; None without a bound."""
        if self.bound is None:
            return None
        return max(self.bound - self.items, 0) * self.held_bytes / max(self.items, 1)


def holders_of(signals: Signals) -> list[Holder]:
    """Return what the script's names hold, the largest first; a recording may have no look."""
    rows = [row for row in signals.process.rows("holders") if row["names"]]
    series: dict[Name, list[dict[str, Any]]] = {}
    for row in rows:
        series.setdefault(tuple(row["names"][0]), []).append(row)
    found = [_holder(signals, rows) for rows in series.values()]
    return sorted(found, key=lambda holder: -holder.held_bytes)


def _holder(signals: Signals, rows: list[dict[str, Any]]) -> Holder:
    last = rows[-1]
    names: list[Name] = [tuple(name) for name in last["names"]]
    line, is_by_key = _line(signals, names, last["kind"])
    _, scope, name = names[0]
    return Holder(
        name=name,
        scope=scope,
        kind=last["kind"],
        content=last["content"],
        bound=last["bound"],
        looks=tuple((row["at_s"], row["bytes"], row["items"]) for row in rows),
        location=line,
        is_by_key=is_by_key,
    )


def _line(signals: Signals, names: list[Name], kind: str) -> tuple[Location | None, bool]:
    """Return the line that adds to one of the names, the likeliest first."""
    for file, scope, name in names:
        text = signals.source_text(file)
        if kind == "lru_cache":
            line = line_of_function(text, name)
            if line is not None:
                return signals.location(file, line), True
        found = additions_to(text, name)
        near = [one for one in found if scope in (one.function, one.owner)] or found
        if near:
            best = _likeliest(near)
            return signals.location(file, best.line), best.is_by_key
    # Another file, or another name for the object: `loader.seen[i] = image`.
    for (_, _, name), other in itertools.product(names, signals.source_files()):
        found = additions_to(signals.source_text(other), "." + name.rpartition(".")[2])
        if found:
            best = _likeliest(found)
            return signals.location(other, best.line), best.is_by_key
    return None, kind == "dict"


def _likeliest(found: list[Addition]) -> Addition:
    """Return the line that runs most often, as far as text tells."""
    return max(found, key=lambda one: (one.in_loop, bool(one.function)))


def holder_growth(signals: Signals, holder: Holder) -> HolderGrowth | None:
    """Return how a name's holdings grew with the steps of the main loop; None where they did not.

    A look that does not list it saw less than a megabyte: that is a reading, too.
    """
    ends = _step_ends(signals)
    if not ends:
        return None
    begin_s, end_s = signals.loop.begin_s, ends[-1] + 1.0
    seen = {at_s: (size, items) for at_s, size, items in holder.looks}
    first_s = holder.looks[0][0]
    times = sorted({row["at_s"] for row in signals.process.rows("holders")})
    before = [at_s for at_s in times if at_s < first_s]
    inside = [at_s for at_s in seen if begin_s <= at_s <= end_s]
    points = [(bisect.bisect_right(ends, at_s), at_s, *seen[at_s]) for at_s in inside]
    if before and points and points[0][1] == first_s:
        points.insert(0, (bisect.bisect_right(ends, before[-1]), before[-1], 0, 0))
    points = [p for n, p in enumerate(points) if n == 0 or p[0] > points[n - 1][0]]
    pairs = list(itertools.pairwise(points))
    if len(pairs) < MIN_RATES:
        return None
    rates = [(b[2] - a[2]) / (b[0] - a[0]) for a, b in pairs]
    first, last = points[0], points[-1]
    steps, window_s, total = last[0] - first[0], last[1] - first[1], last[2] - first[2]
    mean = total / steps
    late = rates[-max(len(rates) // 3, 1) :]
    process = _process_growth(signals, first[1], last[1])
    if total < MIN_GROWN_BYTES or process < MIN_AGREEMENT * total:
        return None
    growth = Growth(first[2], last[2], window_s, total / window_s, mean, min(rates) > 0)
    goes_on = min(late) >= MIN_END_SHARE * mean and min(rates) >= 0
    items = (last[3] - first[3]) / steps
    return HolderGrowth(growth, items, min(rates), max(rates), goes_on, process)


def growing_holder(signals: Signals) -> tuple[Holder, HolderGrowth] | None:
    """Return the name whose holdings grow most and go on to grow; None without one.

    What has a bound is left out if it fits in half of the memory that is left. A loop that only
    predicts is there to collect what it makes, and ends: there it must be much.
    """
    limit, _ = memory_limit(signals.process)
    least = MIN_GROWN_BYTES if signals.loop.trains else large_bytes(limit)
    found = []
    for holder in holders_of(signals):
        grown = holder_growth(signals, holder)
        is_growing = grown is not None and grown.goes_on and grown.growth.total >= least
        if grown is not None and is_growing and not _has_room(signals, holder):
            found.append((holder, grown))
    return max(found, key=lambda pair: pair[1].growth.total, default=None)


def filled_holder(signals: Signals) -> tuple[Holder, HolderGrowth] | None:
    """Return the name that took most memory while the steps ran, where that is much.

    A dictionary that is full, or will be at the end of the epoch, does not grow for ever; what it
    holds is not given back all the same. What has a bound was meant to hold so much.
    """
    limit, _ = memory_limit(signals.process)
    found = []
    for holder in holders_of(signals):
        grown = holder_growth(signals, holder) if holder.bound is None else None
        if grown is not None and grown.growth.total >= large_bytes(limit):
            found.append((holder, grown))
    return max(found, key=lambda pair: pair[1].growth.total, default=None)


def _has_room(signals: Signals, holder: Holder) -> bool:
    to_come = holder.to_come_bytes
    if to_come is None:
        return False
    limit, used = memory_limit(signals.process)
    return limit is None or used is None or to_come < 0.5 * (limit - used)


def _step_ends(signals: Signals) -> list[float]:
    return [r["end_s"] for r in signals.process.rows("steps") if r["loop"] == signals.loop.id]


def _process_growth(signals: Signals, begin_s: float, end_s: float) -> float:
    """Return by how much the memory of the process grew between two moments."""
    points = own_points(signals.process.rows("machine"))
    return _level_at(points, end_s) - _level_at(points, begin_s)


def _level_at(points: list[Point], at_s: float) -> float:
    """Return the memory at the reading next to a moment."""
    return min(points, key=lambda point: abs(point[0] - at_s))[1] if points else 0.0


# Objects of a kind that grew by less may be between two collections.
MIN_OBJECTS = 50
# A trace, such as that of validation, keeps the constants of its graph: five in a small model.
MAX_PER_TRACE = 10
# One in so many steps at least; what comes with epochs is another story.
MIN_PER_STEP = 0.02


@dataclass(frozen=True)
class Kept:
    """Objects of a kind that stay alive: how many more, and how many with every step."""

    kind: str
    growth: Growth
    per_step: float


@dataclass(frozen=True)
class KeepingLine:
    """The line that keeps something: as the allocations say, or as its text does.

    Args:
        is_measured: allocations were followed, and this line's grow.
        others: lines of which the text says the same.
        is_by_key: it puts values under keys, as a cache does: it may stop when all are there.
        made_at: the line whose allocations grow, where another one keeps what it makes.
        holder: the name whose holdings were counted, and grow.
    """

    location: Location
    is_measured: bool
    per_step: float | None = None
    others: tuple[Location, ...] = ()
    is_by_key: bool = False
    made_at: Location | None = None
    holder: str = ""


def kept(signals: Signals, kind: str) -> Kept | None:
    """Return the objects of a kind that stay alive, more with every step."""
    grown, steps = signals.memory.objects.get(kind), signals.steps
    if grown is None or not grown.is_steady:
        return None
    traced = [t.count for t in signals.traces if steps.begin_s <= t.at_s <= steps.end_s]
    if grown.total < MIN_OBJECTS + MAX_PER_TRACE * sum(traced):
        return None
    per_step = (grown.per_step or 0.0) / signals.steps_per_execution
    return Kept(kind, grown, per_step) if per_step >= MIN_PER_STEP else None


def keeping_line(signals: Signals, kinds: tuple[str, ...]) -> KeepingLine | None:
    """Return the line that keeps what memory grows by; None where nothing tells.

    Args:
        signals: of the run.
        kinds: of values whose keeper is looked for in the text, the likeliest first.
    """
    found = training_keepers(signals)
    leak = signals.leak
    if leak is not None and leak.holder is not None and leak.holder.location is not None:
        one, each = leak.holder, leak.growth.per_step
        return KeepingLine(
            leak.holder.location, True, each, is_by_key=one.is_by_key, holder=one.name
        )
    if signals.is_memory_run and signals.growing_lines:
        return _measured(signals.growing_lines, found)
    places = [call.location for call in signals.calls]
    made = {(place.file, place.line) for place in places if place is not None}
    # What a call of TensorFlow made is likelier to be meant than anything else.
    found.sort(key=lambda one: (one[0].file, one[1].made_at or 0) not in made)
    for kind, is_by_key in itertools.product(kinds, (False, True)):
        of_kind = [where for where, k in found if (k.kind, k.is_by_key) == (kind, is_by_key)]
        if of_kind:
            return KeepingLine(of_kind[0], False, others=tuple(of_kind[1:4]), is_by_key=is_by_key)
    return None


def _measured(lines: list[GrowingLine], found: list[tuple[Location, Keeper]]) -> KeepingLine:
    """Return the line whose allocations grow most, or the one that keeps what it makes."""
    first, *others = lines
    at, places = first.location, tuple(line.location for line in others[:3])
    for where, keeper in found:
        is_kept = where.file == at.file and at.line in (keeper.line, keeper.made_at)
        if is_kept and keeper.kind != "plain":
            made_at = at if where != at else None
            told = (True, first.growth.per_step, places, keeper.is_by_key, made_at)
            return KeepingLine(where, *told)
    return KeepingLine(at, True, first.growth.per_step, places)


def training_keepers(signals: Signals) -> list[tuple[Location, Keeper]]:
    """Return the lines that put something into a container for good while training runs.

    Those in the training loop itself come first.
    """
    loop = signals.loop.location
    inner: list[tuple[Location, Keeper]] = []
    outer: list[tuple[Location, Keeper]] = []
    for file in signals.source_files():
        text = signals.source_text(file)
        is_here = loop is not None and loop.file == file and signals.loop.kind != "fit"
        first, last = loop_lines(text, loop.line) if is_here and loop is not None else (0, -1)
        functions = functions_of_training(text, first, last)
        for keeper in keepers(text):
            where = signals.location(file, keeper.line)
            if where is None:
                continue
            if first <= keeper.line <= last:
                inner.append((where, keeper))
            elif keeper.function in functions:
                outer.append((where, keeper))
    return inner + outer


def said_by(line: KeepingLine | None, signals: Signals) -> str:
    """Say how a line is known, or how to see it."""
    if line is None:
        return f"to see the line: {memory_command(signals)}"
    if line.holder:
        return f"the line adds to `{line.holder}`, whose contents were counted"
    if line.made_at is not None:
        return f"the line keeps what {line.made_at.short} makes, whose allocations grow"
    if line.is_measured:
        return "the line is the one whose allocations grow"
    return f"the line is known by its text; to be sure: {memory_command(signals)}"


def memory_command(signals: Signals) -> str:
    """Return the command that shows the lines which hold more and more memory."""
    script = signals.recording.run.get("script") or "YOUR_SCRIPT.py"
    return f"quickfit run --memory {os.path.basename(str(script))}"
