"""What stays alive step after step: tensors, tapes, arrays, and the line that keeps them."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass

from quickfit.findings import Location
from quickfit.signals._facade import Signals
from quickfit.signals.growth import Growth
from quickfit.signals.memory import GrowingLine
from quickfit.source.keepers import Keeper, keepers
from quickfit.source.training_code import functions_of_training, loop_lines

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
