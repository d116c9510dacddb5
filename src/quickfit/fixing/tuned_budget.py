"""Keeps the budget of a script: watching is part of it, and one setting needs some of the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TextIO

from quickfit import units
from quickfit.errors import UsageError
from quickfit.fixing.commands import words_of
from quickfit.fixing.progress import Ticker
from quickfit.lab.budget import Budget
from quickfit.lab.proof import PAIR_S, PAIRS, RESULT_STEPS
from quickfit.lab.script_pair import ENOUGH_S
from quickfit.launch.target import Target

# Below this the prover begins nothing.
LEAST_S = 2 * PAIR_S
# What watching took all of is not enough for anything else.
MORE = 4


class Watching(Ticker):
    """Tells how a script is watched, and ends that where the budget is over.

    Args:
        stream: where to write.
        target: the script.
        budget: the time for everything.
    """

    def __init__(self, stream: TextIO, target: Target, budget: Budget) -> None:
        super().__init__(stream, lambda: budget.left_s)
        self._target = target
        self._budget = budget

    def tell(self, text: str) -> None:
        """Say how far it is.

        Raises:
            UsageError: the budget is over.
        """
        if not self._budget.left_s:
            self.clear()
            given_s = self._budget.seconds
            raise UsageError(
                f"{self._target.name}: the budget of {units.seconds(given_s)} was over while the"
                f" script was still being watched ({text or 'no steps'}).\n"
                f"Give more:\n    quickfit tune --budget {math.ceil(MORE * given_s)}s"
                f" {words_of(self._target)}"
            )
        super().tell(text)


@dataclass(frozen=True)
class Pace:
    """How long a script takes.

    Args:
        first_s: to its first step.
        batch_s: for a step; 0 where nobody knows.
    """

    first_s: float
    batch_s: float = 0.0

    @property
    def kept_s(self) -> float:
        """The time of a run that keeps its results, in which nothing is measured."""
        return self.first_s + RESULT_STEPS * self.batch_s

    @property
    def setting_s(self) -> float:
        """The least time for one setting: its results, and three pairs that take turns."""
        return self.kept_s + PAIRS * (self.first_s + 2 * ENOUGH_S)

    def all_s(self, settings: int) -> float:
        """Return the time for so many settings; the original keeps its results only once."""
        return max(self.kept_s + settings * self.setting_s, LEAST_S)


def check_least(target: Target, budget_s: float) -> None:
    """Refuse a budget in which no trial begins, before the script is watched.

    Raises:
        UsageError: it is too small for any script.
    """
    if budget_s < LEAST_S:
        raise UsageError(
            f"{target.name}: a budget of {units.seconds(budget_s)} is too small: no trial of a"
            f" script is begun with less than {units.seconds(LEAST_S)} left.\n"
            f"A small script needs some minutes:\n    quickfit tune --budget 10m {words_of(target)}"
        )


def check_budget(target: Target, budget: Budget, pace: Pace, settings: int) -> None:
    """Refuse a budget in which nothing can be measured after the script was watched.

    Raises:
        UsageError: not even one setting can be proven in what is left.
    """
    left_s, least_s, all_s = budget.left_s, pace.all_s(1), pace.all_s(settings)
    if not settings or left_s >= least_s:
        return
    watched_s = budget.seconds - left_s
    more = "" if settings == 1 else f", and all {settings} of them about {units.seconds(all_s)}"
    raise UsageError(
        f"{target.name}: a budget of {units.seconds(budget.seconds)} is too small for it. It takes"
        f" {units.seconds(pace.first_s)} to its first step, and was watched for"
        f" {units.seconds(watched_s)}; to prove one setting, its results and {PAIRS} pairs, takes"
        f" about {units.seconds(least_s)} more{more}.\n"
        "Give more:\n"
        f"    quickfit tune --budget {math.ceil(watched_s + all_s)}s {words_of(target)}"
    )
