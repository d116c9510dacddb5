"""Finds the changes that are worth having: rounds of trials within a budget.

Every candidate is tried alone. One that is slower in its first pair is left at that; the others
get fresh processes and more pairs, as long as they may still turn out to be a gain. The winners
are then tried together, beside the best of them alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quickfit.lab.budget import Budget
from quickfit.lab.statistics import MIN_GAIN
from quickfit.tuning.advice.candidates import IN_MEMORY, ChangeCandidate
from quickfit.tuning.advice.result import INPUT_LIMIT
from quickfit.tuning.advice.rounds import (
    MIN_BLOCK_STEPS,
    NO_SLOWER,
    ROUND_BLOCK_S,
    ROUND_TURNS,
    BaselineFailed,
    LossComparison,
    RoundResult,
    StartedTrial,
    TrialMachine,
    TrialPair,
    TrialRound,
)
from quickfit.tuning.advice.verdicts import (
    MAX_PAIRS,
    MIN_PAIRS,
    NEARLY,
    AdviceChoice,
    TriedCandidate,
    join_winners,
)
from quickfit.tuning.trials.settings import Setting, TrialBlock, TrialLearned, TrialReady

# A first pair on a busy machine may be so far off, where the CPU time of a sample says otherwise.
BUSY_NO_SLOWER, LESS_CPU = 0.8, 0.9
# The share of the time left that the first round may take: two more follow, and the winners.
FIRST_SHARE = 0.45


class AdviceSearch:
    """Tries candidates and keeps what was measured.

    Args:
        machine: where trials run.
        steps_left: how many steps the user still has to train, where that is known.
    """

    def __init__(self, machine: TrialMachine, *, steps_left: int | None = None) -> None:
        self._machine = machine
        self._base: StartedTrial | None = None
        self._pace = RoundPace(0.0)
        # How many processes fit into memory at the same time.
        self.room = 2
        self.found = AdviceChoice(steps_left)
        self.notes: list[str] = []
        # All blocks of the training as it is.
        self.blocks: list[TrialBlock] = []
        self.unchanged: TrialLearned | None = None
        # One block of it, before anything is tried.
        self.first_block: TrialBlock | None = None

    def begin(self) -> TrialReady:
        """Start the training as it is; what it answers decides which candidates there are.

        Raises:
            BaselineFailed: it does not run.
            OutOfTime: it does not run within the budget.
        """
        left_s = self._machine.budget.left_s
        self._machine.tell("starting your training as it is")
        self._base = StartedTrial(self._machine.make(Setting()), "as it is")
        self._base.begin()
        self._base.wait(self._machine)
        self.ready = self._base.ready()
        start_s = left_s - self._machine.budget.left_s
        self.first_block = self._base.block(self._machine)
        self._base.ready()  # it may have failed in its block
        self._pace = first_round_pace(start_s, self._base.side.step_s, self._machine.starts)
        return self.ready

    @property
    def budget(self) -> Budget:
        """The time for everything."""
        return self._machine.budget

    def close(self) -> None:
        """End the training as it is, where no round has done so."""
        if self._base is not None:
            self.blocks += self._base.side.blocks
            self._base.trial.close()
            self._base = None

    def needed_s(self, candidates: int = 1) -> float:
        """Return about the time in which so many candidates can be measured, and together."""
        together_s = self._together_s() if candidates > 1 else 0.0
        return MIN_PAIRS * self._pace.round_s(candidates) + together_s

    def try_alone(self, candidates: Sequence[ChangeCandidate]) -> None:
        """Try each candidate by itself, as many as there is time for."""
        self.found.tried |= {one: TriedCandidate(one) for one in candidates}
        waiting = list(candidates)
        while waiting and self._machine.budget.has(self._pace.round_s(1) + self._reserve_s()):
            share_s = FIRST_SHARE * self._machine.budget.left_s
            count = min(max(self._pace.room(share_s), 1), max(self.room - 1, 1))
            now, waiting = waiting[:count], waiting[count:]
            if not self._rounds(now):
                return

    def try_together(self) -> None:
        """Try the winners together, at first beside the best of them alone."""
        winners = self.found.winners()
        together = join_winners(winners, self.ready)
        if together is None:
            return
        self.found.add_together(together)
        if not self._machine.budget.has(self._together_s()):
            return
        for number in range(1, MIN_PAIRS + 1):
            now = [together, winners[0]][: max(self.room - 1, 1)]
            if number > 1 and self.found.tried[together].mean > MIN_GAIN * self._mean(winners[0]):
                now = [together]
            goes_on = self._round(now, number, learns=number == 1, what="together, ")
            if not goes_on or not self._is_open(together):
                return

    def _rounds(self, candidates: Sequence[ChangeCandidate]) -> bool:
        """Give candidates pairs while they may turn out to be a gain; False at the end of time."""
        for number in itertools.count(1):
            # Who had no room in one round may have it in the next: others have gone by then.
            now = [one for one in candidates if self._is_open(one)]
            if number > 1:
                now = self._affordable(self.found.rivals(now), number)
            if not now:
                return True
            # Most of what is slower has gone by the second round.
            if not self._round(now, number, learns=number > 1):
                return False
        return True

    def _affordable(
        self, candidates: Sequence[ChangeCandidate], number: int
    ) -> list[ChangeCandidate]:
        """Return the best of the candidates, as many as there is time for to the end."""
        ranked = sorted(candidates, key=lambda one: -self._mean(one))
        rounds = max(MIN_PAIRS + 1 - number, 1)
        reserve_s = max(self._reserve_s(), self._together_s() if len(ranked) > 1 else 0.0)
        if number > MIN_PAIRS:
            # A gain that is certain comes first: it is worth more than an open one together.
            reserve_s = self._reserve_s()
            if not self._machine.budget.has(reserve_s + self._pace.round_s(1)):
                return []
        left_s = max(self._machine.budget.left_s - reserve_s, 0.0)
        return ranked[: max(self._pace.room(left_s / rounds), 1)]

    def _is_open(self, one: ChangeCandidate) -> bool:
        tried = self.found.tried[one]
        if tried.reason or len(tried.pairs) >= MAX_PAIRS:
            return False  # left behind by another one of its kind, or measured often enough
        return may_still_change(tried, is_busy=self._machine.load.is_busy)

    def _reserve_s(self) -> float:
        """Return the time that the winners together will need, where there are some already."""
        return self._together_s() if len(self.found.winners()) > 1 else 0.0

    def _together_s(self) -> float:
        return MIN_PAIRS * self._pace.round_s(1)

    def _mean(self, one: ChangeCandidate) -> float:
        return self.found.tried[one].mean

    def _round(
        self, candidates: Sequence[ChangeCandidate], number: int, *, learns: bool, what: str = ""
    ) -> bool:
        """Measure one more pair of each; tell whether there is time to go on."""
        left_s = self._machine.budget.left_s
        base, self._base = self._base, None
        title = f"{what}round {number} of {max(number, MIN_PAIRS)}"
        lesson = self._lesson(candidates) if learns else None
        one_round = TrialRound(self._machine, candidates, base=base, title=title, lesson=lesson)
        try:
            found = one_round.measure(backwards=number % 2 == 0)
        except BaselineFailed as error:
            self._check_later(error)
            return False
        except KeyboardInterrupt:
            self._keep(one_round.base, one_round.found())  # what its turns have told by then
            raise
        self._keep(one_round.base, found)
        took_s = left_s - self._machine.budget.left_s
        self._pace = RoundPace(took_s / (len(candidates) + 1))
        return not found.is_cut

    def _keep(self, base: StartedTrial, found: RoundResult) -> None:
        self.blocks += base.side.blocks
        self.unchanged = base.side.learned or self.unchanged
        for one, pair in found.pairs.items():
            self.found.tried[one].pairs.append(self._compared(pair))
        for one, failure in found.failures.items():
            self.found.tried[one].failure = failure

    def _check_later(self, error: BaselineFailed) -> None:
        """Let a training that failed after it had run be a note: what was measured counts."""
        if not any(tried.pairs for tried in self.found.tried.values()):
            raise error
        self.found.ended = "your training as it is failed in a later round"
        self.notes.append(f"Your training as it is failed in a later round: {error}")

    def _compared(self, pair: TrialPair) -> TrialPair:
        return replace(pair, unchanged=pair.unchanged or self.unchanged)

    def _lesson(self, candidates: Sequence[ChangeCandidate]) -> LossComparison:
        """Return who still has to learn, and from how many samples: whole batches of everybody."""
        sizes = [one.setting.batch or 0 for one in self.found.tried]
        largest = max([self.ready.batch, *sizes])
        samples = learn_samples(self.ready, largest, self._machine.budget.seconds)
        new = {one for one in candidates if one != IN_MEMORY and not self.found.tried[one].loss}
        return LossComparison(samples, frozenset(new), with_base=self.unchanged is None)


def may_still_change(tried: TriedCandidate, *, is_busy: bool = False) -> bool:
    """Tell whether another pair of a candidate may still change what is said of it.

    Args:
        tried: what was measured of it.
        is_busy: whether other programs take part of the machine. The first pair then says
            little, and CPU time has a say.
    """
    gain = tried.gain
    if tried.failure is not None:
        return False
    if gain is None:
        return True
    if tried.candidate == IN_MEMORY:
        return gain.mean >= INPUT_LIMIT and gain.pairs < MIN_PAIRS
    if gain.pairs == 1:
        needs_less = is_busy and tried.pairs[0].cpu <= LESS_CPU
        return gain.mean >= (BUSY_NO_SLOWER if needs_less else NO_SLOWER)
    if gain.pairs < MIN_PAIRS:
        return gain.mean >= MIN_GAIN
    return gain.low < MIN_GAIN and gain.mean >= NEARLY


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
class RoundPace:
    """How long a process of a round takes in all: to start, and for its blocks."""

    process_s: float

    def round_s(self, candidates: int) -> float:
        """Return how long a round of so many takes, beside the training as it is."""
        return (candidates + 1) * self.process_s

    def room(self, seconds: float) -> int:
        """Return how many candidates a round of so long has room for."""
        return max(int(seconds / max(self.process_s, _MIN_PROCESS_S)) - 1, 0)


def first_round_pace(start_s: float, step_s: float, starts: int) -> RoundPace:
    """Return how long a process of a round takes, as far as the first start tells."""
    shared_s = start_s * (SHARED_START if starts > 1 else 1.0)
    return RoundPace(
        shared_s + ROUND_TURNS * BLOCKS_PER_TURN * max(ROUND_BLOCK_S, MIN_BLOCK_STEPS * step_s)
    )


def learn_samples(ready: TrialReady, largest: int, budget_s: float) -> int:
    """Return after how many samples losses are compared: whole steps of the largest batch."""
    sample_s = max(ready.step_s / ready.batch, 1e-9)
    wanted = max(LEARN_S / sample_s, LEARN_STEPS * largest)
    wanted = min(wanted, LEARN_SHARE * budget_s / sample_s, MAX_LEARN_SAMPLES)
    if ready.samples is not None:
        wanted = min(wanted, ready.samples)
    return max(int(wanted) // largest, 1) * largest
