"""What came of a candidate, from the pairs that were measured: its row of the table."""

from __future__ import annotations

import math
import re
import statistics
from dataclasses import dataclass, field

from quickfit import units
from quickfit.measuring.intervals import Measured, interval
from quickfit.tuning.advice.candidates import Candidate
from quickfit.tuning.advice.pairs import Pair
from quickfit.tuning.advice.rows import MIN_GAIN, Kind, Loss, Row, Verdict
from quickfit.tuning.advice.table import loss_figure
from quickfit.tuning.trials.answers import TrialFailed

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
class Tried:
    """A candidate with all that was measured of it.

    Args:
        candidate: what was tried.
        pairs: one for each round.
        failure: how it failed, if it did.
        reason: why it was given up before it had enough pairs.
    """

    candidate: Candidate
    pairs: list[Pair] = field(default_factory=list)
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
    def loss(self) -> Loss | None:
        """The loss beside that of the training as it is, of the first pair that has both."""
        for pair in self.pairs:
            if pair.learned is not None and pair.unchanged is not None:
                new, old = pair.learned, pair.unchanged
                return Loss(new.samples, new.before, new.after, old.after)
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


def row_of(tried: Tried, steps_left: int | None = None, ended: str = OUT_OF_TIME) -> Row:
    """Return the row of a candidate.

    Args:
        tried: what was measured.
        steps_left: how many steps the user still has to train, where that is known.
        ended: why there are no more pairs.
    """
    verdict, reason = verdict_of(tried, steps_left, ended)
    one = tried.candidate
    if not tried.pairs:
        return Row(one.name, one.kind, verdict, reason=reason, setting=one.setting.changed())
    peak = max(pair.peak_bytes for pair in tried.pairs)
    before = max(pair.unchanged_peak_bytes for pair in tried.pairs)
    return Row(
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


def verdict_of(
    tried: Tried, steps_left: int | None = None, ended: str = OUT_OF_TIME
) -> tuple[Verdict, str]:
    """Return what came of a candidate, and why."""
    gain = tried.gain
    if tried.failure is not None:
        return Verdict.FAILED, failure_text(tried.failure)
    if gain is None:
        return Verdict.NOT_TRIED, ended
    if gain.pairs >= MIN_PAIRS and gain.low >= MIN_GAIN:
        return _of_gain(tried, steps_left)
    if gain.pairs < MIN_PAIRS and gain.mean >= MIN_GAIN:
        if tried.reason:
            return Verdict.OUTDONE, tried.reason
        times = "once" if gain.pairs == 1 else "twice"
        return Verdict.NOT_DECIDED, f"measured {times} only: {ended}"
    if (gain.high if gain.pairs > 1 else gain.mean) < SLOWER:
        return Verdict.SLOWER, ""
    if gain.mean >= NEARLY:
        why = f"after {gain.pairs} pairs it may be as little as {gain.low:.2f}×"
        return Verdict.NOT_DECIDED, why
    if gain.mean >= MIN_GAIN:
        return Verdict.NO_GAIN, f"it may be as little as {gain.low:.2f}×, and noise reaches 1.05×"
    return Verdict.NO_GAIN, ""


def _of_gain(tried: Tried, steps_left: int | None) -> tuple[Verdict, str]:
    """Judge what is faster for sure: by its loss, and by whether it pays in the steps left."""
    loss, pays = tried.loss, tried.pays_after
    if loss is not None and loss.is_worse:
        return Verdict.LEARNS_LESS, _worse_text(loss, tried.candidate.kind)
    if steps_left is not None and pays is not None and pays > steps_left:
        why = (
            f"it pays after {units.count(pays)} steps, and you have {units.count(steps_left)} left"
        )
        return Verdict.NO_GAIN, why
    return Verdict.ADVISED, ""


def _worse_text(loss: Loss, kind: Kind) -> str:
    text = (
        f"after {units.count(loss.samples)} samples the loss is {loss_figure(loss.after)}, and"
        f" {loss_figure(loss.unchanged)} as it is"
    )
    if kind is Kind.BATCH:
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
