"""How much of the machine other programs took while trials were measured."""

from __future__ import annotations

import os
from collections.abc import Callable

import psutil

from quickfit.capacity import whole_cores

# The system counts CPU time in ticks of 10 ms; over less than this they say nothing.
MIN_S = 0.25
# From here on, measurements on this machine are told to be disturbed.
BUSY_CORES = 0.25
# From this share of our cores on, what was chosen by time is uncertain.
HIGH_SHARE = 0.5


class OtherLoad:
    """Adds up the CPU time that was not ours, over the blocks of all trials.

    Args:
        busy_s: the CPU time of everything on the machine so far.
        cores: that we may use.
        elsewhere: other cores of the machine, which are not in our way.
    """

    def __init__(
        self,
        busy_s: Callable[[], float] | None = None,
        cores: int | None = None,
        elsewhere: int | None = None,
    ) -> None:
        self._busy_s = busy_s or machine_busy_s
        self.cores = cores if cores is not None else whole_cores()
        all_cores = os.cpu_count() or self.cores
        self._elsewhere = elsewhere if elsewhere is not None else max(all_cores - self.cores, 0)
        self._wall_s = 0.0
        self._foreign_s = 0.0
        self._began_s = 0.0

    def begin(self) -> None:
        """Note where a block begins."""
        self._began_s = self._busy_s()

    def end(self, *, wall_s: float, own_s: float) -> None:
        """Note its end: how long it took since `begin`, and our own CPU time in it."""
        self._wall_s += wall_s
        self._foreign_s += max(self._busy_s() - self._began_s - own_s, 0.0)

    @property
    def other_cores(self) -> float | None:
        """How many cores other programs kept busy on average; None where it is not known."""
        if self._wall_s < MIN_S:
            return None
        return max(self._foreign_s / self._wall_s - self._elsewhere, 0.0)

    @property
    def is_busy(self) -> bool:
        """Whether that is enough to disturb."""
        return (self.other_cores or 0.0) >= BUSY_CORES

    @property
    def is_high(self) -> bool:
        """Whether that is so much that a choice by time is uncertain."""
        return (self.other_cores or 0.0) >= HIGH_SHARE * self.cores

    @property
    def words(self) -> str:
        """How busy the machine was, for people."""
        other = self.other_cores
        if other is None:
            return ""
        if not self.is_busy:
            return "the machine was otherwise quiet"
        return f"other programs kept {other:.1f} of {self.cores} cores busy meanwhile"


def machine_busy_s() -> float:
    """Return the CPU time of everything on the machine."""
    # Time of guests is counted in that of users already.
    idle = ("idle", "iowait", "guest", "guest_nice")
    times = psutil.cpu_times()._asdict()
    return float(sum(value for name, value in times.items() if name not in idle))
