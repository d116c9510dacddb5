"""Arrays that a loop copies into tensors in every step, and the room for a second copy of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickfit.code.lines import feeding_lines, loop_end
from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.signals._host import WATCHED_CALLS
from quickfit.signals.caching import free_bytes
from quickfit.signals.gains import Interval, share_interval
from quickfit.signals.stacks import Frame, SampledStack, package_of
from quickfit.signals.steps import LOOKS

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# Another line than the one that copies is named where it takes this many times as long.
MUCH_LONGER = 2.0
Line = tuple[str, int]


@dataclass(frozen=True)
class HostCopies:
    """What the copies of one step are: by short looks at the loop.

    `inside_s` of them lies in calls that are timed by themselves, such as a compiled function that
    is given an array.
    """

    step_s: float
    inside_s: float
    bytes: float
    location: Location | None


def host_copies(signals: Signals) -> HostCopies:
    """Return what a step copies.

    Raises:
        SignalMissing: nobody looked, or the recording is too old to tell where.
    """
    rows = [row for row in signals.process.rows("copies") if row["loop"] == signals.loop.id]
    rows = [row for row in rows if row.get("bytes") is not None]
    steps = sum(row["steps"] for row in rows)
    if not steps:
        raise SignalMissing("a look at the arrays that become tensors")
    lines: dict[Line, float] = {}
    for row in rows:
        if row["file"] is not None and row["line"] is not None:
            place = (row["file"], row["line"])
            lines[place] = lines.get(place, 0.0) + (row["line_s"] or 0.0)
    copies_s, outside_s, size = (
        sum(row[name] or 0.0 for row in rows) / steps for name in ("copies_s", "outside_s", "bytes")
    )
    longest = max(lines, key=lambda line: lines[line], default=None)
    where = signals.location(*longest) if longest else None
    return HostCopies(copies_s, max(copies_s - outside_s, 0.0), size, where)


@dataclass(frozen=True)
class Making:
    """The samples between the calls of a loop, those that make what is copied, and their line."""

    outside: int
    making: int
    line: Location | None
    line_share: float

    @property
    def share(self) -> float:
        """The share of the Python between calls that makes what is copied."""
        return self.making / self.outside if self.outside else 0.0

    @property
    def interval(self) -> Interval:
        """Between what that share may lie."""
        return share_interval(self.share, self.outside) if self.outside else (0.0, 0.0)


NOTHING = Making(0, 0, None, 0.0)


def making(signals: Signals, copied_at: Location) -> Making:
    """Return how much of the Python between a loop's calls makes the arrays copied at a line.

    By the text: what the copying line works on, in its own loop or function and in those that
    call it, up to the loop. `line` is where most of these samples are.
    """
    is_made = _maker(signals, copied_at)
    outside = made = 0
    lines: Counter[Line] = Counter()
    for stack in signals.main_stacks():
        if any((package_of(f.file), f.function) in WATCHED_CALLS for f in stack.frames):
            continue
        outside += stack.seen
        if is_made(stack):
            made += stack.seen
            user = next(f for f in stack.frames if f.is_user)
            lines[(user.file, user.line)] += stack.seen
    if not outside:
        raise SignalMissing("samples between the calls")
    hottest = lines.most_common(1)
    place, seen = hottest[0] if hottest else (None, 0)
    where = signals.location(*place) if place else None
    return Making(outside, made, where, seen / made if made else 0.0)


def _maker(signals: Signals, copied_at: Location) -> Callable[[SampledStack], bool]:
    """Return what tells whether a stack is making the array that a line copies."""
    lines = {(copied_at.file, n) for n in _feeding(signals, copied_at.file, copied_at.line)}
    for stack in signals.main_stacks():
        users = _in_loop(signals, stack)
        at = [n for n, f in enumerate(users) if (f.file, f.line) in lines]
        for frame in users[at[0] + 1 :] if at else ():
            lines |= {(frame.file, n) for n in _feeding(signals, frame.file, frame.line)}
    return lambda stack: any((f.file, f.line) in lines for f in _in_loop(signals, stack))


def _feeding(signals: Signals, file: str, line: int) -> set[int]:
    return feeding_lines(signals.source_text(file), line)


def _in_loop(signals: Signals, stack: SampledStack) -> list[Frame]:
    """Return the user's frames of a stack that are inside the loop, innermost first."""
    users = [frame for frame in stack.frames if frame.is_user]
    head = signals.loop.location
    if head is None:
        return users
    end = loop_end(signals.source_text(head.file), head.line)
    for number, frame in enumerate(users):
        if frame.file == head.file and head.line <= frame.line <= end:
            return users[: number + 1]
    return []


def guilty_line(copies: HostCopies, made: Making, made_s: float) -> Location | None:
    """Return the line that copies; one that makes the array where it takes much longer."""
    if made.line is None or copies.location is None:
        return copies.location
    is_longer = made.line_share * made_s > MUCH_LONGER * copies.step_s
    return made.line if is_longer else copies.location


def asks_the_model(signals: Signals) -> bool:
    """Tell whether the loop looks at the model between its steps: then batches may depend on it."""
    calls = [call for call in signals.calls if call.loop == signals.loop.id]
    total = max((call.calls for call in calls if call.kind in ("function", "gradient")), default=0)
    return sum(call.calls for call in calls if call.kind in LOOKS) > 0.1 * total


def has_room_for_copy(signals: Signals) -> bool:
    """Tell whether a copy of all data fits into memory; it is taken to where nobody measured.

    The data is no more than what all steps of the run copied, and no more than the process holds.
    """
    try:
        free = free_bytes(signals)
    except SignalMissing:
        return True
    try:
        copied = host_copies(signals).bytes * len(signals.steps.steps)
    except SignalMissing:
        copied = float("inf")
    return min(copied, float(signals.memory.rss_bytes)) <= free
