"""Chooses what to advise among the changes that were tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quickfit.measuring.intervals import Measured
from quickfit.tuning.advice.candidates import IN_MEMORY, Candidate, fits, name_of
from quickfit.tuning.advice.rows import Kind, Row, Verdict
from quickfit.tuning.advice.verdicts import OUT_OF_TIME, Tried, row_of
from quickfit.tuning.trials.answers import Ready
from quickfit.tuning.trials.settings import Setting

# Of these kinds only the fastest counts, and one so far behind it has no chance.
_ONE_OF = (Kind.STEPS, Kind.THREADS)
FAR_BEHIND = 0.95


class Choosing:
    """All that was tried, and what is best of it; may be asked at any time.

    Args:
        steps_left: how many steps the user still has to train, where that is known.
    """

    def __init__(self, steps_left: int | None = None) -> None:
        self._steps_left = steps_left
        # Why there is no more to come, for whatever was not tried to its end.
        self.ended = OUT_OF_TIME
        self._together: Candidate | None = None
        self.tried: dict[Candidate, Tried] = {}

    def add_together(self, together: Candidate) -> None:
        """Add the winners in one."""
        self._together = together
        self.tried.setdefault(together, Tried(together))

    def winners(self) -> list[Candidate]:
        """Return the best of each kind that is advised by itself, the best of all first."""
        found: dict[Kind, Candidate] = {}
        for one in sorted(self.tried, key=lambda one: -self.tried[one].mean):
            if one not in (IN_MEMORY, self._together) and self._row(one).is_advised:
                found.setdefault(one.kind, one)
        return list(found.values())

    def rivals(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return candidates without those that another one of their kind has left behind.

        Of batches both stay: the larger one may learn less.
        """
        leaders: dict[Kind, Candidate] = {}
        for one in sorted(candidates, key=lambda one: -self.tried[one].mean):
            leaders.setdefault(one.kind, one)
        kept = []
        for one in candidates:
            leader = leaders[one.kind]
            if one.kind in _ONE_OF and self.tried[one].mean < FAR_BEHIND * self.tried[leader].mean:
                self.tried[one].reason = f"{leader.name} was ahead when both ran side by side"
            else:
                kept.append(one)
        return kept

    def best(self) -> Candidate | None:
        """Return what is advised in the end: the winners together, or the best of them alone."""
        winners = self.winners()
        if not winners:
            return None
        together = self._together
        return together if together and self._is_better(together, winners[0]) else winners[0]

    def rows(self) -> tuple[Row, ...]:
        """Return the row of every candidate, in the order in which they were tried."""
        winners, best = self.winners(), self.best()
        return tuple(
            self._row(one) if one == best else self._told(one, best, winners)
            for one in self.tried
            if one != IN_MEMORY
        )

    def input_gain(self) -> Measured | None:
        """Return how much faster it is with input that costs nothing, where that was tried."""
        tried = self.tried.get(IN_MEMORY)
        return tried.gain if tried is not None else None

    def _row(self, one: Candidate) -> Row:
        return row_of(self.tried[one], self._steps_left, self.ended)

    def _is_better(self, together: Candidate, single: Candidate) -> bool:
        """Tell whether the winners together beat the best of them."""
        is_faster = self.tried[together].mean > self.tried[single].mean
        return is_faster and self._row(together).is_advised

    def _told(self, one: Candidate, best: Candidate | None, winners: Sequence[Candidate]) -> Row:
        """Return the row of a candidate that is not the best, told beside the best."""
        row = self._row(one)
        if not row.is_advised or best is None:
            return row
        if one == self._together:
            return _outdone(row, f"not faster than {best.name} alone")
        if one not in winners:
            name = next(other.name for other in winners if other.kind is one.kind)
            return _outdone(row, f"faster, but {name} is faster still")
        if best == self._together:
            return row if _is_part(one, best) else _outdone(row, f"it does not fit {best.name}")
        if self._together is not None and self.tried[self._together].pairs:
            return _outdone(row, f"faster alone, but not together with {best.name}")
        why = f"faster alone; together with {best.name} it was not tried: {self.ended}"
        return replace(row, verdict=Verdict.NOT_DECIDED, reason=why)


def joined(winners: Sequence[Candidate], ready: Ready) -> Candidate | None:
    """Return all winners in one; None where that is one only."""
    setting = Setting()
    for one in reversed(winners):  # where two change the same, the better one counts
        setting = setting.with_all(one.setting)
    if not fits(setting, ready):  # of larger batches, an epoch has too few for one call
        setting = replace(setting, steps_per_execution=None)
    if any(setting == one.setting for one in winners) or not winners:
        return None
    return Candidate(Kind.TOGETHER, name_of(setting), setting)


def _is_part(one: Candidate, whole: Candidate) -> bool:
    changed = whole.setting.changed()
    return all(changed.get(name) == value for name, value in one.setting.changed().items())


def _outdone(row: Row, why: str) -> Row:
    return replace(row, verdict=Verdict.OUTDONE, reason=why)
