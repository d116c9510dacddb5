"""What came of a candidate, from the pairs that were measured, and which changes to advise."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from quickfit import units
from quickfit.lab.statistics import MIN_GAIN, Measured, interval
from quickfit.tuning.advice.candidates import IN_MEMORY, ChangeCandidate, fits_epoch, setting_name
from quickfit.tuning.advice.report import loss_figure
from quickfit.tuning.advice.result import (
    ChangeKind,
    ChangeRow,
    ChangeVerdict,
    LossChange,
)
from quickfit.tuning.advice.rounds import TrialPair
from quickfit.tuning.trials.settings import Setting, TrialFailed, TrialReady

# What is measured less often is not advised.
MIN_PAIRS = 3
# More rounds than three are for gains that are near the bound.
MAX_PAIRS = 5
# A mean below this hardly gets a lower bound of 1.05 from more pairs.
NEARLY = 1.08
# Below this it is not only no gain but a loss worth telling.
SLOWER = 0.95
OUT_OF_TIME = "the budget was over"
INTERRUPTED = "interrupted"
_MAX_REASON = 300
_ERROR = re.compile(r"[\w.]*(Error|Exception|Warning|Exit|Interrupt)\b")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class TriedCandidate:
    """A candidate with all that was measured of it.

    Args:
        candidate: what was tried.
        pairs: one for each round.
        failure: how it failed, if it did.
        reason: why it was given up before it had enough pairs.
    """

    candidate: ChangeCandidate
    pairs: list[TrialPair] = field(default_factory=list)
    failure: TrialFailed | None = None
    reason: str = ""

    @property
    def gain(self) -> Measured | None:
        """Samples per second as a multiple, over pairs; None before the first."""
        return interval([pair.gain for pair in self.pairs]) if self.pairs else None

    @property
    def mean(self) -> float:
        """The mean gain; 0 before the first pair."""
        gain = self.gain
        return gain.mean if gain is not None else 0.0

    @property
    def loss(self) -> LossChange | None:
        """The loss beside that of the training as it is, of the first pair that has both."""
        for pair in self.pairs:
            if pair.learned is not None and pair.unchanged is not None:
                new, old = pair.learned, pair.unchanged
                return LossChange(new.samples, new.before, new.after, old.after)
        return None

    @property
    def compile_s(self) -> float:
        """How much longer the first call takes; the least of what was measured."""
        return min((pair.compile_s for pair in self.pairs), default=0.0)

    @property
    def pays_after(self) -> int | None:
        """How many steps, of the training as it is, make up for that; None where none do."""
        if self.mean <= 1.0:
            return None
        step_s = statistics.median(pair.step_s for pair in self.pairs)
        saved_s = step_s * (1 - 1 / self.mean)
        return math.ceil(self.compile_s / saved_s) if saved_s > 0 else None


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
    one = tried.candidate
    if not tried.pairs:
        return ChangeRow(one.name, one.kind, verdict, reason=reason, setting=one.setting.changed())
    peak = max(pair.peak_bytes for pair in tried.pairs)
    before = max(pair.unchanged_peak_bytes for pair in tried.pairs)
    return ChangeRow(
        one.name,
        one.kind,
        verdict,
        gain=tried.gain,
        cpu=math.exp(statistics.fmean(math.log(max(p.cpu, 1e-9)) for p in tried.pairs)),
        peak_bytes=peak or None,
        more_bytes=peak - before if peak and before else None,
        compile_s=tried.compile_s,
        pays_after=tried.pays_after,
        loss=tried.loss,
        reason=reason,
        setting=one.setting.changed(),
    )


def tried_verdict(
    tried: TriedCandidate, steps_left: int | None = None, ended: str = OUT_OF_TIME
) -> tuple[ChangeVerdict, str]:
    """Return what came of a candidate, and why."""
    gain = tried.gain
    if tried.failure is not None:
        return ChangeVerdict.FAILED, failure_text(tried.failure)
    if gain is None:
        return ChangeVerdict.NOT_TRIED, ended
    if gain.pairs >= MIN_PAIRS and gain.low >= MIN_GAIN:
        return _gain_verdict(tried, steps_left)
    if gain.pairs < MIN_PAIRS and gain.mean >= MIN_GAIN:
        if tried.reason:
            return ChangeVerdict.OUTDONE, tried.reason
        times = "once" if gain.pairs == 1 else "twice"
        return ChangeVerdict.NOT_DECIDED, f"measured {times} only: {ended}"
    if (gain.high if gain.pairs > 1 else gain.mean) < SLOWER:
        return ChangeVerdict.SLOWER, ""
    if gain.mean >= NEARLY:
        why = f"after {gain.pairs} pairs it may be as little as {gain.low:.2f}×"
        return ChangeVerdict.NOT_DECIDED, why
    if gain.mean >= MIN_GAIN:
        return (
            ChangeVerdict.NO_GAIN,
            f"it may be as little as {gain.low:.2f}×, and noise reaches 1.05×",
        )
    return ChangeVerdict.NO_GAIN, ""


def _gain_verdict(tried: TriedCandidate, steps_left: int | None) -> tuple[ChangeVerdict, str]:
    """Judge what is faster for sure: by its loss, and by whether it pays in the steps left."""
    loss, pays = tried.loss, tried.pays_after
    if loss is not None and loss.is_worse:
        return ChangeVerdict.LEARNS_LESS, _worse_loss_text(loss, tried.candidate.kind)
    if steps_left is not None and pays is not None and pays > steps_left:
        why = (
            f"it pays after {units.count(pays)} steps, and you have {units.count(steps_left)} left"
        )
        return ChangeVerdict.NO_GAIN, why
    return ChangeVerdict.ADVISED, ""


def _worse_loss_text(loss: LossChange, kind: ChangeKind) -> str:
    text = (
        f"after {units.count(loss.samples)} samples the loss is {loss_figure(loss.after)}, and"
        f" {loss_figure(loss.unchanged)} as it is"
    )
    if kind is ChangeKind.BATCH:
        return f"{text}; a larger batch takes fewer steps and usually wants a higher learning rate"
    return text


def failure_text(failure: TrialFailed) -> str:
    """Return how a trial failed in one line: what a traceback ends with, or the first line."""
    lines = [line.strip() for line in without_style(failure.text).splitlines()]
    lines = [line for line in lines if line]
    errors = [place for place, line in enumerate(lines) if _ERROR.match(line)]
    is_traceback = bool(errors) and "Traceback" in failure.text
    first = errors[-1] if is_traceback else 0
    # The first line of Keras's errors only says in which layer, the second one says what.
    count = 2 if is_traceback and lines[first].endswith("().") else 1
    text = ": ".join([failure.failure.value, *lines[first : first + count]])
    return text if len(text) <= _MAX_REASON else f"{text[:_MAX_REASON]}…"


def without_style(text: str) -> str:
    """Return text without the colours that libraries put into their messages."""
    return _STYLE.sub("", text)


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
        self._together: ChangeCandidate | None = None
        self.tried: dict[ChangeCandidate, TriedCandidate] = {}

    def add_together(self, together: ChangeCandidate) -> None:
        """Add the winners in one."""
        self._together = together
        self.tried.setdefault(together, TriedCandidate(together))

    def winners(self) -> list[ChangeCandidate]:
        """Return the best of each kind that is advised by itself, the best of all first."""
        found: dict[ChangeKind, ChangeCandidate] = {}
        for one in sorted(self.tried, key=lambda one: -self.tried[one].mean):
            if one not in (IN_MEMORY, self._together) and self._row(one).is_advised:
                found.setdefault(one.kind, one)
        return list(found.values())

    def rivals(self, candidates: Sequence[ChangeCandidate]) -> list[ChangeCandidate]:
        """Return candidates without those that another one of their kind has left behind.

        Of batches both stay: the larger one may learn less.
        """
        leaders: dict[ChangeKind, ChangeCandidate] = {}
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

    def best(self) -> ChangeCandidate | None:
        """Return what is advised in the end: the winners together, or the best of them alone."""
        winners = self.winners()
        if not winners:
            return None
        together = self._together
        return together if together and self._is_better(together, winners[0]) else winners[0]

    def rows(self) -> tuple[ChangeRow, ...]:
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

    def _row(self, one: ChangeCandidate) -> ChangeRow:
        return tried_row(self.tried[one], self._steps_left, self.ended)

    def _is_better(self, together: ChangeCandidate, single: ChangeCandidate) -> bool:
        """Tell whether the winners together beat the best of them."""
        is_faster = self.tried[together].mean > self.tried[single].mean
        return is_faster and self._row(together).is_advised

    def _told(
        self, one: ChangeCandidate, best: ChangeCandidate | None, winners: Sequence[ChangeCandidate]
    ) -> ChangeRow:
        """Return the row of a candidate that is not the best, told beside the best."""
        row = self._row(one)
        if not row.is_advised or best is None:
            return row
        if one == self._together:
            return _outdone_row(row, f"not faster than {best.name} alone")
        if one not in winners:
            name = next(other.name for other in winners if other.kind is one.kind)
            return _outdone_row(row, f"faster, but {name} is faster still")
        if best == self._together:
            return (
                row if _is_part_of(one, best) else _outdone_row(row, f"it does not fit {best.name}")
            )
        if self._together is not None and self.tried[self._together].pairs:
            return _outdone_row(row, f"faster alone, but not together with {best.name}")
        why = f"faster alone; together with {best.name} it was not tried: {self.ended}"
        return replace(row, verdict=ChangeVerdict.NOT_DECIDED, reason=why)


def join_winners(winners: Sequence[ChangeCandidate], ready: TrialReady) -> ChangeCandidate | None:
    """Return all winners in one; None where that is one only."""
    setting = Setting()
    for one in reversed(winners):  # where two change the same, the better one counts
        setting = setting.with_all(one.setting)
    if not fits_epoch(setting, ready):  # of larger batches, an epoch has too few for one call
        setting = replace(setting, steps_per_execution=None)
    if any(setting == one.setting for one in winners) or not winners:
        return None
    return ChangeCandidate(ChangeKind.TOGETHER, setting_name(setting), setting)


def _is_part_of(one: ChangeCandidate, whole: ChangeCandidate) -> bool:
    changed = whole.setting.changed()
    return all(changed.get(name) == value for name, value in one.setting.changed().items())


def _outdone_row(row: ChangeRow, why: str) -> ChangeRow:
    return replace(row, verdict=ChangeVerdict.OUTDONE, reason=why)
