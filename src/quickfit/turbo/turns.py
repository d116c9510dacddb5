"""Decides which way the next call takes, on or off, from what each way took so far.

Both ways give the same values, so the script itself is measured: some of its calls the old way,
some the new one, in turns. The new way is kept only where it is faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from quickfit.findings import MIN_GAIN

# Times kept of each way; a training may make a million calls.
MAX_TIMES = 4096


def median(values: Sequence[float]) -> float:
    """Return the middle one of some numbers."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return (ordered[middle] + ordered[~middle]) / 2


@dataclass
class WayTimes:
    """What one way took: seconds per call or step, and how many of them there were."""

    count: int = 0
    times_s: list[float] = field(default_factory=list)

    def add(self, seconds: float, count: int = 1) -> None:
        """Note a call, or a pass by its mean step."""
        self.count += count
        self.times_s.append(seconds)
        if len(self.times_s) > MAX_TIMES:
            del self.times_s[::2]

    @property
    def typical_s(self) -> float | None:
        """The median, or None where nothing was measured."""
        return median(self.times_s) if self.times_s else None


@dataclass
class Turns:
    """What both ways took, and whether the new one is worth it.

    Args:
        needs: times that each way needs before they are compared.
    """

    needs: int = 1
    on: WayTimes = field(default_factory=WayTimes)
    off: WayTimes = field(default_factory=WayTimes)

    @property
    def is_faster(self) -> bool | None:
        """Whether on is faster than off; None: not known yet."""
        on_s, off_s = self.on.typical_s, self.off.typical_s
        if on_s is None or off_s is None:
            return None
        if min(len(self.on.times_s), len(self.off.times_s)) < self.needs:
            return None
        return off_s >= MIN_GAIN * on_s

    @property
    def saved_s(self) -> float | None:
        """What was saved in all; None: not known."""
        on_s, off_s = self.on.typical_s, self.off.typical_s
        return None if on_s is None or off_s is None else (off_s - on_s) * self.on.count


@dataclass
class CallTurns(Turns):
    """Turns of calls that are alike: blocks of off and on.

    Once on is known to be faster, a block of off now and then keeps the comparison honest.
    """

    needs: int = 8
    calls: int = 0

    BLOCK = 4
    # One block of off calls in so many calls: two percent.
    ROUND = 200
    # The first block of each way traces, and is not timed.
    WARM_UP = 2 * BLOCK

    def next_is_on(self) -> bool:
        """Return the way of the next call, which counts it."""
        number = self.calls
        self.calls += 1
        if self.is_faster is None:
            return number // self.BLOCK % 2 == 1
        return self.is_faster and number % self.ROUND >= self.BLOCK

    def add_call(self, seconds: float, *, is_on: bool) -> None:
        """Note what the last call took."""
        if self.calls > self.WARM_UP:
            (self.on if is_on else self.off).add(seconds)
