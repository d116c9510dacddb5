"""How much time is left for making candidates, so that some is left for measuring them."""

from __future__ import annotations

import time
from collections.abc import Callable

from quickfit.errors import UsageError

USUAL_S = 600.0
# The rest is for measuring, which is what all of it is for.
MAKING_SHARE = 0.7


class Budget:
    """Watches the clock.

    Args:
        total_s: for everything.
        clock: seconds that only grow.
    """

    def __init__(self, total_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        if not total_s > 0:
            raise UsageError(f"budget_s={total_s!r}: it is a number of seconds above 0.")
        self.total_s, self._clock = total_s, clock
        self._begin_s = self._last_s = clock()
        self._longest_s: dict[str, float] = {}

    @property
    def spent_s(self) -> float:
        """The time since the beginning."""
        return self._clock() - self._begin_s

    def begin(self) -> None:
        """Begin to make a candidate."""
        self._last_s = self._clock()

    def end(self, sort: str = "") -> None:
        """End it; the longest one of its sort says what the next may take."""
        taken_s = self._clock() - self._last_s
        self._longest_s[sort] = max(self._longest_s.get(sort, 0.0), taken_s)

    def has_room(self, sort: str = "") -> bool:
        """Tell whether another candidate of a sort is likely to fit."""
        needed_s = self._longest_s.get(sort, max(self._longest_s.values(), default=0.0))
        return self.spent_s + needed_s <= self.total_s * MAKING_SHARE
