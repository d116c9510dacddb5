"""What came of a candidate, from what was measured, and which changes to advise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from quickfit import units
from quickfit.lab.statistics import MIN_GAIN, Measured
from quickfit.lab.verdict import USUAL_PAIRS, Verdict, VerdictKind
from quickfit.tuning.advice.candidates import IN_MEMORY, ChangeCandidate
from quickfit.tuning.advice.change_table import (
    ChangeKind,
    ChangeRow,
    ChangeVerdict,
    LossChange,
    loss_figure,
)

# After the usual pairs, a mean below this hardly gets a lower bound of 1.05 from more of them.
NEARLY = 1.08
OUT_OF_TIME = "the budget was over"
LATE = "the time left is for the best ones together; give more with --budget"
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Measurement:
    """All that was measured of a change beside the training as it is; None is what was not.

    Args:
        gain: samples per second as a multiple, over pairs.
        verdict: whether the pairs show a gain, and whether more may change that.
        cpu: CPU time of a sample, likewise.
        peak_bytes: the most memory that the changed training held.
        more_bytes: how much more that is than without the change.
        compile_s: how much longer the first call took.
        step_s: wall time of a step of the training as it is.
        loss: after equally many samples.
        fix_class: of an edit, once its results were compared.
    """

    gain: Measured
    verdict: Verdict
    cpu: float | None = None
    peak_bytes: float | None = None
    more_bytes: float | None = None
    compile_s: float | None = None
    step_s: float | None = None
    loss: LossChange | None = None
    fix_class: str | None = None

    @property
    def pays_after(self) -> int | None:
        """How many steps of the training as it is make up for compiling; None where none do."""
        if self.gain.mean <= 1.0 or not self.step_s:
            return None
        return math.ceil((self.compile_s or 0.0) / (self.step_s * (1 - 1 / self.gain.mean)))


@dataclass
class TriedCandidate:
    """A candidate with all that was measured of it.

    Args:
        candidate: what was tried.
        measured: over all pairs so far; None before the first.
        failure: how it failed, in one line; empty where it did not.
        reason: why it was given up or not tried.
    """

    candidate: ChangeCandidate
    measured: Measurement | None = None
    failure: str = ""
    reason: str = ""

    @property
    def gain(self) -> Measured | None:
        """Samples per second as a multiple, over pairs; None before the first."""
        return self.measured.gain if self.measured is not None else None

    @property
    def mean(self) -> float:
        """The mean gain; 0 before the first pair."""
        gain = self.gain
        return gain.mean if gain is not None else 0.0


def tried_row(
    tried: TriedCandidate, steps_left: int | None = None, ended: str = OUT_OF_TIME
) -> ChangeRow:
    """Return the row of a candidate.

    Args:
        tried: what was measured.
        steps_left: how many steps the user still has to train, where that is known.
        ended: why there are no more pairs.
    """
    verdict, reason = tried_verdict(tried, steps_left, ended)
    one, found = tried.candidate, tried.measured
    row = ChangeRow(one.name, one.kind, verdict, reason=reason, setting=one.setting.changed())
    if found is None:
        return row
    return replace(
        row,
        gain=found.gain,
        cpu=found.cpu,
        peak_bytes=found.peak_bytes,
        more_bytes=found.more_bytes,
        compile_s=found.compile_s,
        pays_after=found.pays_after,
        loss=found.loss,
        fix_class=found.fix_class,
    )


def tried_verdict(
    tried: TriedCandidate, steps_left: int | None = None, ended: str = OUT_OF_TIME
) -> tuple[ChangeVerdict, str]:
    """Return what came of a candidate, and why."""
    found = tried.measured
    if tried.failure:
        return ChangeVerdict.FAILED, tried.failure
    if found is None:
        return ChangeVerdict.NOT_TRIED, tried.reason or ended
    gain = found.gain
    if found.verdict.kind is VerdictKind.ACCEPTED:
        return _gain_verdict(tried.candidate, found, steps_left)
    if gain.pairs < USUAL_PAIRS and gain.mean >= MIN_GAIN:
        if tried.reason:
            return ChangeVerdict.OUTDONE, tried.reason
        if found.verdict.why and not found.verdict.is_open:
            return ChangeVerdict.NOT_DECIDED, found.verdict.why
        times = "once" if gain.pairs == 1 else "twice"
        return ChangeVerdict.NOT_DECIDED, f"measured {times} only: {ended}"
    if (gain.high if gain.pairs > 1 else gain.mean) < 1 / MIN_GAIN:
        return ChangeVerdict.SLOWER, ""
    if gain.pairs > 1 and not gain.is_known:
        return ChangeVerdict.NOT_DECIDED, f"{gain.pairs} pairs differ too much to say anything"
    if gain.mean >= NEARLY:
        why = f"after {gain.pairs} pairs it may be as little as {gain.low:.2f}×"
        return ChangeVerdict.NOT_DECIDED, why
    if gain.mean >= MIN_GAIN:
        why = f"it may be as little as {gain.low:.2f}×, and noise reaches {MIN_GAIN:g}×"
        return ChangeVerdict.NO_GAIN, why
    return ChangeVerdict.NO_GAIN, ""


def _gain_verdict(
    one: ChangeCandidate, found: Measurement, steps_left: int | None
) -> tuple[ChangeVerdict, str]:
    """Judge what is faster for sure: by its loss, and by whether it pays in the steps left."""
    loss, pays = found.loss, found.pays_after
    if loss is not None and loss.is_worse:
        return ChangeVerdict.LEARNS_LESS, worse_loss_text(loss, one.kind)
    if steps_left is not None and pays is not None and pays > steps_left:
        why = (
            f"it pays after {units.count(pays)} steps, and you have {units.count(steps_left)} left"
        )
        return ChangeVerdict.NO_GAIN, why
    return ChangeVerdict.ADVISED, ""


def worse_loss_text(loss: LossChange, kind: ChangeKind) -> str:
    """Return by how much a loss is worse, and what may be done about a larger batch."""
    text = (
        f"after {units.count(loss.samples)} samples the loss is {loss_figure(loss.after)}, and"
        f" {loss_figure(loss.unchanged)} as it is"
    )
    if kind is ChangeKind.BATCH:
        return f"{text}; a larger batch takes fewer steps and usually wants a higher learning rate"
    return text


# Of these kinds only the fastest counts, and one so far behind it has no chance.
_ONE_OF = (ChangeKind.STEPS, ChangeKind.THREADS)
FAR_BEHIND = 0.95


class AdviceChoice:
    """All that was tried, and what is best of it; may be asked at any time.

    Args:
        steps_left: how many steps the user still has to train, where that is known.
    """

    def __init__(self, steps_left: int | None = None) -> None:
        self._steps_left = steps_left
        # Why there is no more to come, for whatever was not tried to its end.
        self.ended = OUT_OF_TIME
        self.together: ChangeCandidate | None = None
        # Whether the winners can be changed together.
        self.fits_together = True
        self.tried: dict[ChangeCandidate, TriedCandidate] = {}

    def add(self, candidates: Sequence[ChangeCandidate]) -> None:
        """Add candidates; one with a reason is there to be shown only."""
        for one in candidates:
            self.tried.setdefault(one, TriedCandidate(one, reason=one.reason))

    def take(
        self,
        measured: Mapping[ChangeCandidate, Measurement],
        failures: Mapping[ChangeCandidate, str],
        refusals: Mapping[ChangeCandidate, str],
    ) -> None:
        """Take over what is known by now: of what was measured, failed or could not be tried."""
        for one, found in measured.items():
            self.tried[one].measured = found
        for one, text in failures.items():
            self.tried[one].failure = text
        for one, text in refusals.items():
            self.tried[one].reason = text

    def mean(self, one: ChangeCandidate) -> float:
        """Return the mean gain of a candidate; 0 where it was not measured."""
        return self.tried[one].mean

    def winners(self) -> list[ChangeCandidate]:
        """Return the best of each kind that is advised by itself, the best of all first."""
        found: dict[ChangeKind, ChangeCandidate] = {}
        for one in sorted(self.tried, key=lambda one: -self.mean(one)):
            if one not in (IN_MEMORY, self.together) and self._row(one).is_advised:
                found.setdefault(one.kind, one)
        return list(found.values())

    def rivals(self, candidates: Sequence[ChangeCandidate]) -> list[ChangeCandidate]:
        """Return candidates without those that another one of their kind has left behind.

        Of batches both stay: the larger one may learn less.
        """
        leaders: dict[ChangeKind, ChangeCandidate] = {}
        for one in sorted(candidates, key=lambda one: -self.mean(one)):
            leaders.setdefault(one.kind, one)
        kept = []
        for one in candidates:
            leader = leaders[one.kind]
            if one.kind in _ONE_OF and self.mean(one) < FAR_BEHIND * self.mean(leader):
                self.tried[one].reason = f"{leader.name} was ahead when both ran side by side"
            else:
                kept.append(one)
        return kept

    def why_spared(self, one: ChangeCandidate) -> str:
        """Return why a candidate needs no trial after what others showed; nothing where it does."""
        same = [other for other in self.tried if other.kind is one.kind and self.mean(other)]
        if not same:
            return ""
        last = same[-1]
        row = self._row(last)
        mine, its = one.setting, last.setting
        if one.kind is ChangeKind.STEPS:
            if (mine.steps_per_execution or 0) > (its.steps_per_execution or 0):
                return ""  # the user's own order
            if row.is_advised:
                return f"{last.name}, which saves more calls, gains already"
            is_none = self.mean(last) < MIN_GAIN
            return f"{last.name} gain nothing, and fewer gain less" if is_none else ""
        if one.kind is ChangeKind.BATCH:
            if (mine.batch or 0) < (its.batch or 0):
                return ""
            if row.loss is not None and row.loss.is_worse:
                return f"{last.name} learns less from the same examples already"
            return f"{last.name} is no faster" if self.mean(last) < 1.0 else ""
        return ""

    def best(self) -> ChangeCandidate | None:
        """Return what is advised in the end: the winners together, or the best of them alone."""
        winners = self.winners()
        if not winners:
            return None
        together = self.together
        return together if together and self._is_better(together, winners[0]) else winners[0]

    def parts(self) -> list[ChangeCandidate]:
        """Return the candidates that are advised, each by itself, in the order of trying."""
        best = self.best()
        if best is None or best != self.together:
            return [] if best is None else [best]
        winners = self.winners()
        return [one for one in self.tried if one in winners and is_part_of(one, best)]

    def rows(self) -> tuple[ChangeRow, ...]:
        """Return the row of every candidate, in the order in which they were tried."""
        winners, best = self.winners(), self.best()
        return tuple(
            self._row(one) if one == best else self._row_beside(one, best, winners)
            for one in self.tried
            if one != IN_MEMORY
        )

    def chosen_row(self) -> ChangeRow | None:
        """Return the row of what is advised."""
        best = self.best()
        return next((row for row in self.rows() if best and row.name == best.name), None)

    def input_gain(self) -> Measured | None:
        """Return how much faster it is with input that costs nothing, where that was tried."""
        tried = self.tried.get(IN_MEMORY)
        return tried.gain if tried is not None else None

    def _row(self, one: ChangeCandidate) -> ChangeRow:
        return tried_row(self.tried[one], self._steps_left, self.ended)

    def _is_better(self, together: ChangeCandidate, single: ChangeCandidate) -> bool:
        """Tell whether the winners together beat the best of them."""
        return self.mean(together) > self.mean(single) and self._row(together).is_advised

    def _row_beside(
        self, one: ChangeCandidate, best: ChangeCandidate | None, winners: Sequence[ChangeCandidate]
    ) -> ChangeRow:
        """Return the row of a candidate that is not the best, judged beside the best."""
        row = self._row(one)
        if not row.is_advised or best is None:
            return row
        if one == self.together:
            return _outdone_row(row, f"not faster than {best.name} alone")
        if one not in winners:
            name = next(other.name for other in winners if other.kind is one.kind)
            return _outdone_row(row, f"faster, but {name} is faster still")
        if best == self.together:
            return (
                row if is_part_of(one, best) else _outdone_row(row, f"it does not fit {best.name}")
            )
        if self.together is not None and self.mean(self.together):
            return _outdone_row(row, f"faster alone, but not together with {best.name}")
        if not self.fits_together:
            return _outdone_row(row, f"it does not fit {best.name}")
        why = f"faster alone; together with {best.name} it was not tried: {self.ended}"
        return replace(row, verdict=ChangeVerdict.NOT_DECIDED, reason=why)


def is_part_of(one: ChangeCandidate, whole: ChangeCandidate) -> bool:
    """Tell whether one change is in several that were joined."""
    changed = whole.setting.changed()
    return all(changed.get(name) == value for name, value in one.setting.changed().items())


def _outdone_row(row: ChangeRow, why: str) -> ChangeRow:
    return replace(row, verdict=ChangeVerdict.OUTDONE, reason=why)
