"""Finds the changes that are worth having: candidates, trials in turns, a verdict, in one budget.

Every candidate is tried alone. One that is slower in its first pair is left at that; the others
get fresh processes and more pairs, as long as they may still turn out to be a gain. The winners
are then tried together, beside the best of them alone.

Candidates are settings of a built model or edits of a script; a bench measures them. What the
search knows of a bench is how long its rounds take, and what it has measured by now.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from quickfit import units
from quickfit.errors import UsageError
from quickfit.lab.budget import Budget
from quickfit.lab.statistics import MIN_GAIN
from quickfit.lab.verdict import USUAL_PAIRS
from quickfit.tuning.advice.candidates import IN_MEMORY, ChangeCandidate
from quickfit.tuning.advice.result import INPUT_LIMIT
from quickfit.tuning.advice.verdicts import (
    INTERRUPTED,
    LATE,
    NEARLY,
    AdviceChoice,
    Measurement,
    TriedCandidate,
)

# A candidate that is slower in its first pair is not measured again, nor asked what it learns.
NO_SLOWER = 1.0
# A first pair on a busy machine may be so far off, where the CPU time of a sample says otherwise.
BUSY_NO_SLOWER, LESS_CPU = 0.8, 0.9
# The share of the time left that the first round may take: two more follow, and the winners.
FIRST_SHARE = 0.45


@dataclass(frozen=True)
class RoundPlan:
    """One round of trials.

    Args:
        candidates: to be measured beside the training as it is.
        number: of the round, for these candidates.
        learners: those whose loss is to be compared.
        begun: how many candidates were tried before these, and
        total: how many there are in all, for whoever watches.
        is_together: the winners are tried together.
    """

    candidates: tuple[ChangeCandidate, ...]
    number: int = 1
    learners: frozenset[ChangeCandidate] = frozenset()
    begun: int = 0
    total: int = 0
    is_together: bool = False


class TrialBench(Protocol):
    """Where candidates are measured."""

    budget: Budget
    # Over all rounds so far.
    measured: dict[ChangeCandidate, Measurement]
    failures: dict[ChangeCandidate, str]
    # Why candidates were not measured that were begun, or must not be.
    refusals: dict[ChangeCandidate, str]
    # Why it ended before the budget was over; empty where it did not.
    ended: str

    @property
    def rounds(self) -> int:
        """How many rounds a candidate needs that is a gain."""

    @property
    def is_busy(self) -> bool:
        """Whether other programs take part of the machine."""

    @property
    def begin_s(self) -> float:
        """The least time in which another candidate is begun."""

    def round_s(self, candidates: int) -> float:
        """Return how long a round of so many candidates takes."""

    def room(self, seconds: float) -> int:
        """Return how many candidates there is memory for, and time in so many seconds."""

    def measure(self, plan: RoundPlan) -> bool:
        """Measure one round; tell whether there is time to go on.

        Raises:
            KeyboardInterrupt: it was interrupted; `measured` has what is known by then.
        """

    def join(self, winners: Sequence[ChangeCandidate]) -> ChangeCandidate | None:
        """Return winners in one, the best of them first; None where that is one only."""


class CandidateSearch:
    """Tries candidates on a bench.

    Args:
        bench: where they are measured.
        steps_left: how many steps the user still has to train, where that is known.
    """

    def __init__(self, bench: TrialBench, *, steps_left: int | None = None) -> None:
        self._bench = bench
        self.choice = AdviceChoice(steps_left)

    def run(self, candidates: Sequence[ChangeCandidate]) -> bool:
        """Try candidates alone and the winners together; tell whether that was interrupted.

        What was measured before an interrupt counts.
        """
        self.choice.add(candidates)
        try:
            self.try_alone([one for one in candidates if not one.reason])
            self.try_together()
        except KeyboardInterrupt:
            self.choice.ended = INTERRUPTED
            return True
        return False

    def needed_s(self, candidates: int = 1) -> float:
        """Return about the time in which so many candidates are decided, and the best together.

        Of several, about half are no faster in their first round, and have no other.
        """
        bench, half = self._bench, -(-candidates // 2)
        together_s = self._together_s() if candidates > 1 else 0.0
        return bench.round_s(candidates) + (bench.rounds - 1) * bench.round_s(half) + together_s

    def try_alone(self, candidates: Sequence[ChangeCandidate]) -> None:
        """Try each candidate by itself, as many as there is time for."""
        self.choice.add(candidates)
        bench, waiting = self._bench, list(candidates)
        while waiting := [one for one in waiting if not self._is_spared(one)]:
            is_last = len(self.choice.winners()) > 1
            next_s = max(bench.begin_s, bench.round_s(1) if is_last else 0.0)
            if not bench.budget.has(next_s + self._reserve_s()):
                for one in waiting:
                    self.choice.tried[one].reason = LATE if is_last else ""
                return
            count = max(bench.room(FIRST_SHARE * bench.budget.left_s), 1)
            now, waiting = waiting[:count], waiting[count:]
            begun = len(candidates) - len(waiting) - len(now)
            if not self._rounds(now, begun, len(candidates)):
                return

    def try_together(self) -> None:
        """Try the winners together, at first beside the best of them alone."""
        winners = self.choice.winners()
        together = self._bench.join(winners)
        if together is None:
            self.choice.fits_together = len(winners) < 2
            return
        self.choice.together = together
        self.choice.add([together])
        # Two rounds decide where the gain is plain, as that of several together mostly is.
        if not self._bench.budget.has(min(self._bench.rounds, 2) * self._bench.round_s(1)):
            return
        for number in range(1, self._bench.rounds + 1):
            now = [together, winners[0]][: max(self._bench.room(float("inf")), 1)]
            # Far enough ahead, they need the best of them beside them no more.
            if number > 1 and self._mean(together) > MIN_GAIN * self._mean(winners[0]):
                now = [together]
            if self._bench.rounds == 1:
                now = [together]  # a round is a whole proof, and the best one has its own
            plan = RoundPlan(
                tuple(now),
                number,
                self._learners(now) if number == 1 else frozenset(),
                total=len(winners),
                is_together=True,
            )
            if not self._round(plan) or not self._is_open(together):
                return

    def _is_spared(self, one: ChangeCandidate) -> bool:
        """Tell whether a trial is spared, because others of its kind have answered it."""
        why = self.choice.why_spared(one)
        self.choice.tried[one].reason = why
        return bool(why)

    def _rounds(self, candidates: Sequence[ChangeCandidate], begun: int, total: int) -> bool:
        """Give candidates pairs while they may turn out to be a gain; False at the end of time."""
        for number in itertools.count(1):
            # Who had no room in one round may have it in the next: others have gone by then.
            now = [one for one in candidates if self._is_open(one)]
            if number > 1:
                now = self._affordable(self.choice.rivals(now), number)
            if not now:
                return True
            # Most of what is slower has gone by the second round.
            learners = self._learners(now) if number > 1 else frozenset()
            if not self._round(RoundPlan(tuple(now), number, learners, begun, total)):
                return False
        return True

    def _round(self, plan: RoundPlan) -> bool:
        try:
            goes_on = self._bench.measure(plan)
        finally:
            bench = self._bench
            self.choice.take(bench.measured, bench.failures, bench.refusals)
        self.choice.ended = self._bench.ended or self.choice.ended
        return goes_on

    def _affordable(
        self, candidates: Sequence[ChangeCandidate], number: int
    ) -> list[ChangeCandidate]:
        """Return the best of the candidates, as many as there is time for to the end."""
        bench = self._bench
        ranked = sorted(candidates, key=lambda one: -self._mean(one))
        rounds = max(bench.rounds + 1 - number, 1)
        reserve_s = max(self._reserve_s(), self._together_s() if len(ranked) > 1 else 0.0)
        if number > bench.rounds:
            # A gain that is certain comes first: it is worth more than an open one together.
            reserve_s = self._reserve_s()
            if not bench.budget.has(reserve_s + bench.round_s(1)):
                return []
        left_s = max(bench.budget.left_s - reserve_s, 0.0)
        return ranked[: max(bench.room(left_s / rounds), 1)]

    def _is_open(self, one: ChangeCandidate) -> bool:
        tried = self.choice.tried[one]
        if tried.reason:
            return False  # left behind by another one of its kind
        return may_still_change(tried, is_busy=self._bench.is_busy)

    def _reserve_s(self) -> float:
        """Return the time that the winners together will need, where there are some already."""
        return self._together_s() if len(self.choice.winners()) > 1 else 0.0

    def _together_s(self) -> float:
        return self._bench.rounds * self._bench.round_s(1)

    def _mean(self, one: ChangeCandidate) -> float:
        return self.choice.mean(one)

    def _learners(self, candidates: Sequence[ChangeCandidate]) -> frozenset[ChangeCandidate]:
        """Return those whose loss is not known yet."""
        known = self._bench.measured
        return frozenset(
            one
            for one in candidates
            if one != IN_MEMORY and not (one in known and known[one].loss is not None)
        )


def may_still_change(tried: TriedCandidate, *, is_busy: bool = False) -> bool:
    """Tell whether another pair of a candidate may still change what is said of it.

    Args:
        tried: what was measured of it.
        is_busy: whether other programs take part of the machine. The first pair then says
            little, and CPU time has a say.
    """
    found = tried.measured
    if tried.failure:
        return False
    if found is None:
        return True
    gain = found.gain
    if tried.candidate == IN_MEMORY:
        return gain.mean >= INPUT_LIMIT and gain.pairs < USUAL_PAIRS
    if gain.pairs == 1:
        needs_less = is_busy and found.cpu is not None and found.cpu <= LESS_CPU
        return found.verdict.is_open and gain.mean >= (BUSY_NO_SLOWER if needs_less else NO_SLOWER)
    is_hopeless = gain.mean < (NEARLY if gain.pairs >= USUAL_PAIRS else MIN_GAIN)
    return found.verdict.is_open and not is_hopeless


@dataclass(frozen=True)
class BudgetNeeds:
    """How much time changes need, by the first steps of the training.

    Args:
        count: how many there are to try.
        least_s: what one of them takes from now on, and
        all_s: what all take.
        spent: what took the time until now, as one says it.
    """

    count: int
    least_s: float
    all_s: float
    spent: str


def check_budget(
    name: str,
    budget: Budget,
    needs: BudgetNeeds,
    *,
    command: Callable[[float], str],
    warn: Callable[[str], None],
) -> None:
    """Refuse a budget in which nothing is decided; say at the start where not everything may be.

    Args:
        name: of what is tuned.
        budget: what is left of it.
        needs: what the changes need.
        command: returns how to ask for a budget of so many seconds.
        warn: called with what the user should know.

    Raises:
        UsageError: not even one change can be decided in what is left.
    """
    if not needs.count or budget.has(needs.all_s):
        return
    whole_s = budget.seconds - budget.left_s + needs.all_s
    given = units.seconds(budget.seconds)
    if budget.has(needs.least_s):
        warn(
            f"{name}: {given} may not decide all {needs.count} changes; by its first steps that"
            f" takes about {units.seconds(whole_s)}:\n    {command(whole_s)}"
        )
        return
    more = f", and all {needs.count} about {units.seconds(needs.all_s)}" if needs.count > 1 else ""
    raise UsageError(
        f"{name}: a budget of {given} is too small for it. {needs.spent}; to decide one change"
        f" takes about {units.seconds(needs.least_s)} more{more}.\n"
        f"Give more:\n    {command(whole_s)}"
    )
