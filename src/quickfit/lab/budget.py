"""The time that all proofs together may take."""

from __future__ import annotations

import time
from collections.abc import Callable


class Budget:
    """Counts down from when it is made.

    Args:
        seconds: in all.
        clock: seconds that only grow.
    """

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self.deadline_s = clock() + seconds

    @property
    def left_s(self) -> float:
        """What is left; never below zero."""
        return max(self.deadline_s - self._clock(), 0.0)

    def has(self, seconds: float) -> bool:
        """Tell whether so much is left."""
        return self.left_s >= seconds
