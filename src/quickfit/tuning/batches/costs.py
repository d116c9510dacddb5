"""How long it takes to try one more batch size, and for which of them there is time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

# Starting several trials at once on few cores takes longer than the cores alone explain, and the
# last one longer than the first where the machine has become busier.
START_TOLL = 1.3
# A size costs about so many steps: the first ones, and the turns.
STEPS_PER_SIZE = 8


@dataclass(frozen=True)
class Costs:
    """What trials took so far.

    Args:
        start_s: one took to start.
        cores: that start one each at the same time.
        step_s: tells how long a step of a size will take.
    """

    start_s: float
    cores: int
    step_s: Callable[[int], float]

    def size_s(self, size: int, at_once: int = 1) -> float:
        """Return how long a size takes to start and to measure, where several start together."""
        steps_s = STEPS_PER_SIZE * self.step_s(size)
        return START_TOLL * self.start_s / min(self.cores, at_once) + steps_s

    def least_s(self, sizes: Iterable[int]) -> float:
        """Return how long the soonest of some sizes takes alone."""
        return min(map(self.size_s, sizes))

    def affordable(self, sizes: list[int], left_s: float) -> list[int]:
        """Return the sizes for which there is time, in their order."""
        taken = []
        for size in sizes:
            cost_s = self.size_s(size, len(sizes))
            if cost_s <= left_s:
                taken.append(size)
                left_s -= cost_s
        return taken
