"""How long things take in a round, so that a budget can be planned with."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.tuning.advice.processes import BLOCK_S, MIN_STEPS
from quickfit.tuning.advice.rounds import TURNS
from quickfit.tuning.trials.answers import Ready

# Two processes that start together on two cores each take a little longer than one alone.
SHARED_START = 0.75
# A turn has more than one block for each: the training as it is has its own between them.
BLOCKS_PER_TURN = 1.5
# How long a training may take for the comparison of losses: as such, and of the budget.
LEARN_S, LEARN_SHARE = 2.0, 0.03
# Fewer steps of the largest batch show little.
LEARN_STEPS = 8
MAX_LEARN_SAMPLES = 20_000
# Any shorter, and a division by it would plan rounds without end.
_MIN_PROCESS_S = 0.05


@dataclass(frozen=True)
class Pace:
    """How long a process of a round takes in all: to start, and for its blocks."""

    process_s: float

    def round_s(self, candidates: int) -> float:
        """Return how long a round of so many takes, beside the training as it is."""
        return (candidates + 1) * self.process_s

    def room(self, seconds: float) -> int:
        """Return how many candidates a round of so long has room for."""
        return max(int(seconds / max(self.process_s, _MIN_PROCESS_S)) - 1, 0)


def first_pace(start_s: float, step_s: float, starts: int) -> Pace:
    """Return how long a process of a round takes, as far as the first start tells."""
    shared_s = start_s * (SHARED_START if starts > 1 else 1.0)
    return Pace(shared_s + TURNS * BLOCKS_PER_TURN * max(BLOCK_S, MIN_STEPS * step_s))


def learn_samples(ready: Ready, largest: int, budget_s: float) -> int:
    """Return after how many samples losses are compared: whole steps of the largest batch."""
    sample_s = max(ready.step_s / ready.batch, 1e-9)
    wanted = max(LEARN_S / sample_s, LEARN_STEPS * largest)
    wanted = min(wanted, LEARN_SHARE * budget_s / sample_s, MAX_LEARN_SAMPLES)
    if ready.samples is not None:
        wanted = min(wanted, ready.samples)
    return max(int(wanted) // largest, 1) * largest
