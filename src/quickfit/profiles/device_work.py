"""What devices did in a profile: totals by operation, busy time, gaps, and why there were gaps.

Times are whole nanoseconds. Operations of several streams overlap: the time that is counted alone
is that in which nothing that began earlier was running, so that it adds up to the busy time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

# Between kernels that are queued already lie a few microseconds; launching one takes about five.
SHORT_GAP_NS = 10_000
# Gaps whose reason is looked for, the longest; the others count as a kind of their own.
MAX_GAPS = 5_000
# Names of kernels are long where they are templates; nobody reads more of one.
MAX_NAME = 200
# Different names that are kept apart; a profile with more has generated ones.
MAX_NAMES = 20_000
OTHER_NAMES = "other operations"
# A profile of more than a month has a wrong clock, or is damaged.
MAX_WINDOW_NS = 30 * 86_400 * 10**9


class DeviceEvent(NamedTuple):
    """One operation of a device: `key` leads back to the host's call that started it."""

    begin_ns: int
    end_ns: int
    kind: str
    name: str
    size: int | None = None
    key: int = 0


class Gap(NamedTuple):
    """A time in which a device did nothing; `key` is of the operation after it, zero at the end."""

    begin_ns: int
    end_ns: int
    key: int = 0

    @property
    def length_ns(self) -> int:
        """How long it lasts."""
        return self.end_ns - self.begin_ns


class OddProfileError(ValueError):
    """Times that no profile can have; its text says which."""


@dataclass
class Total:
    """All operations of one name."""

    count: int = 0
    total_ns: int = 0
    alone_ns: int = 0
    longest_ns: int = 0
    size: int | None = None


@dataclass
class DeviceWork:
    """What one device did between two moments.

    Args:
        name: of the device.
        totals: by kind and name of the operations.
        idle: by reason and detail: how often, for how long in all, and the longest.
    """

    name: str
    begin_ns: int
    end_ns: int
    busy_ns: int = 0
    totals: dict[tuple[str, str], Total] = field(default_factory=dict)
    idle: dict[tuple[str, str], Total] = field(default_factory=dict)

    @property
    def window_ns(self) -> int:
        """How long it was looked at."""
        return self.end_ns - self.begin_ns


def add_up(
    work: DeviceWork, events: Iterable[DeviceEvent], reason: Callable[[Gap], tuple[str, str]]
) -> None:
    """Add the operations of a device to its totals, and its gaps to their reasons.

    Args:
        work: of the device, without any yet.
        events: in the order of their begin.
        reason: returns reason and detail of a gap.

    Raises:
        OddProfileError: an operation ends before it begins, or the whole takes more than a month.
    """
    if work.window_ns > MAX_WINDOW_NS:
        raise OddProfileError(f"it takes {work.window_ns / 1e9:.3g} s")
    covered_ns = work.begin_ns
    gaps: list[tuple[int, Gap]] = []
    for event in events:
        if event.end_ns < event.begin_ns:
            raise OddProfileError("an operation ends before it begins")
        begin_ns, end_ns = max(event.begin_ns, covered_ns), max(event.end_ns, covered_ns)
        if begin_ns > covered_ns:
            _keep_gap(work, gaps, Gap(covered_ns, begin_ns, event.key))
        alone_ns = end_ns - begin_ns
        covered_ns = end_ns
        work.busy_ns += alone_ns
        _count(work, event, alone_ns)
    if work.end_ns > covered_ns:
        _keep_gap(work, gaps, Gap(covered_ns, work.end_ns))
    for _, gap in gaps:
        _idle(work, reason(gap), gap)


def _count(work: DeviceWork, event: DeviceEvent, alone_ns: int) -> None:
    name = event.name[:MAX_NAME]
    if (event.kind, name) not in work.totals and len(work.totals) >= MAX_NAMES:
        name = OTHER_NAMES
    total = work.totals.setdefault((event.kind, name), Total())
    length_ns = event.end_ns - event.begin_ns
    total.count += 1
    total.total_ns += length_ns
    total.alone_ns += alone_ns
    total.longest_ns = max(total.longest_ns, length_ns)
    if event.size is not None:
        total.size = (total.size or 0) + event.size


def _keep_gap(work: DeviceWork, gaps: list[tuple[int, Gap]], gap: Gap) -> None:
    if gap.length_ns < SHORT_GAP_NS:
        _idle(work, ("between operations", "each shorter than 10 µs"), gap)
        return
    heapq.heappush(gaps, (gap.length_ns, gap))
    if len(gaps) > MAX_GAPS:
        _, shortest = heapq.heappop(gaps)
        _idle(work, ("unknown", "one of very many gaps"), shortest)


def _idle(work: DeviceWork, reason: tuple[str, str], gap: Gap) -> None:
    total = work.idle.setdefault((reason[0], reason[1][:MAX_NAME]), Total())
    total.count += 1
    total.total_ns += gap.length_ns
    total.longest_ns = max(total.longest_ns, gap.length_ns)


@dataclass(frozen=True)
class ProfileStep:
    """A range that the program marked as one step."""

    name: str
    begin_ns: int
    end_ns: int


@dataclass
class Profile:
    """A profile in our terms.

    Args:
        kind: which tool wrote it.
        devices: what each device did, in a window that all of them share.
        steps: ranges that the program marked as steps, if it did.
        notes: what is missing in it, or was left out.
    """

    kind: str
    devices: list[DeviceWork]
    steps: list[ProfileStep] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
