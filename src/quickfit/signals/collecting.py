"""What Python's garbage collector takes of the time, and whether a line of the script calls it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickfit.findings import Location
from quickfit.signals.drift_places import in_host_code, in_tensorflow
from quickfit.signals.gains import share_interval

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# Samples at a line that calls the collector, of all of the main thread's: less is chance.
MIN_CALLED_SHARE = 0.05
# A line at which objects are made is told from this share on.
MIN_MAKING_SHARE = 0.25
# The collector runs when an object is made, and is seen in what initialises the object.
_INITIALISING = ("__init__", "__new__", "__post_init__")


@dataclass(frozen=True)
class Collecting:
    """The collector while steps ran.

    Args:
        share: of the time.
        full: full collections.
        objects: how many objects it knows, as counted last; None where that was not counted.
        called_at: the line that calls `gc.collect()` most; None where Python calls it by itself.
        made_at: then, the line at which objects are made that set it off; None where unclear.
        samples_share: of the main thread's samples at that line.
    """

    share: float
    seconds: float
    full: int
    window_s: float
    objects: int | None
    called_at: Location | None
    made_at: Location | None
    samples_share: float | None


def collecting(signals: Signals) -> Collecting | None:
    """Return what the collector took; None where it was not timed."""
    machine = signals.machine
    if machine.collecting_share is None or machine.full_collections is None:
        return None
    counts = [row["alive"] for row in signals.process.rows("objects") if row["kind"] == "all"]
    called_at, share = _called_at(signals)
    made_at = None
    if called_at is None:
        made_at, share = _made_at(signals)
    return Collecting(
        min(machine.collecting_share, 1.0),
        machine.collecting_share * machine.window_s,
        machine.full_collections,
        machine.window_s,
        counts[-1] if counts else None,
        called_at,
        made_at,
        share,
    )


def _called_at(signals: Signals) -> tuple[Location | None, float | None]:
    """Return the line that calls the collector, by samples of the main thread."""
    stacks = signals.main_stacks()
    total = sum(stack.seen for stack in stacks)
    seen: dict[tuple[str, int], int] = {}
    for stack in stacks:
        frame = stack.frames[0] if stack.frames else None
        where = signals.location(frame.file, frame.line) if frame and frame.is_user else None
        if where is not None and "gc.collect" in where.text:
            key = (where.file, where.line)
            seen[key] = seen.get(key, 0) + stack.seen
    return _hottest(signals, seen, total, MIN_CALLED_SHARE)


def _made_at(signals: Signals) -> tuple[Location | None, float | None]:
    """Return the line of the script's own code that most samples are at, and their share."""
    stacks = signals.main_stacks()
    total = sum(stack.seen for stack in stacks)
    seen: dict[tuple[str, int], int] = {}
    for stack in stacks:
        frames = [f for f in stack.frames if f.is_user and f.function not in _INITIALISING]
        if frames and in_host_code(stack.frames) and not in_tensorflow(stack.frames):
            key = (frames[0].file, frames[0].line)
            seen[key] = seen.get(key, 0) + stack.seen
    loop = signals.loop.location
    if loop is not None:
        seen.pop((loop.file, loop.line), None)  # what runs there is Keras's
    return _hottest(signals, seen, total, MIN_MAKING_SHARE)


def _hottest(
    signals: Signals, seen: dict[tuple[str, int], int], total: int, least: float
) -> tuple[Location | None, float | None]:
    """Return the line seen most and its share, where even the low end of that is large enough."""
    if not seen:
        return None, None
    place, count = max(seen.items(), key=lambda item: item[1])
    if share_interval(count / total, total)[0] < least:
        return None, None
    return signals.location(*place), count / total
