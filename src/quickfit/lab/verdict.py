"""Is it a gain? A rule that looks after every pair, and what became of a candidate by it.

Whoever looks again and again accepts too much: each look has its own share of the error. With these
shares, simulated pairs without a gain are accepted less often than by three to six pairs at 2.5 %
each, whatever the noise (`benchmarks/coverage.py --simulate`), and plain gains need two pairs.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from quickfit.findings import MIN_GAIN, Change, FixClass, Gain
from quickfit.lab.statistics import Measured, interval

# Student's t by the number of pairs; one-sided errors of 1, 1.5, 2, 2.5 and 2.5 %.
_LOOKS = {2: 31.821, 3: 5.643, 4: 3.482, 5: 2.776, 6: 2.571}
MIN_PAIRS, MOST_PAIRS = min(_LOOKS), max(_LOOKS)
# What a proof takes as a rule, for estimates of its time; two pairs where the gain is plain.
USUAL_PAIRS = 3
# Pairs whose logarithms spread by more than this say neither that there is a gain nor that there is
# none.
NOISY = 0.2


class VerdictKind(StrEnum):
    """What pairs say of a gain."""

    ACCEPTED = "accepted"
    NO_GAIN = "no gain"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True)
class Verdict:
    """What the pairs so far say.

    Args:
        kind: the answer, if no pair follows.
        is_open: another pair may change it.
        why: why it is not accepted; empty where it is.
    """

    kind: VerdictKind
    is_open: bool
    why: str = ""


def judge_gain(ratios: Sequence[float], *, widened: float = 1.0) -> Verdict:
    """Return whether ratios, one per pair, show a gain of `MIN_GAIN` or more.

    Args:
        ratios: how many times as fast; none before the first pair.
        widened: a factor on the width, for pairs that were not measured in turns.
    """
    if len(ratios) < MIN_PAIRS:
        used_up = f"the time was used up after {len(ratios)} of {MIN_PAIRS} pairs"
        is_no_gain = bool(ratios) and ratios[0] < MIN_GAIN
        kind = VerdictKind.NO_GAIN if is_no_gain else VerdictKind.NOT_DECIDED
        why = _less() if is_no_gain else f"{used_up}; give more with --budget"
        return Verdict(kind, is_open=True, why=why)
    found = looked_interval(ratios, widened=widened)
    if found.low >= MIN_GAIN:
        return Verdict(VerdictKind.ACCEPTED, is_open=False)
    if found.mean < MIN_GAIN:
        # Two pairs that are no faster: a third will not make it so.
        is_open = len(ratios) == MIN_PAIRS and found.mean > 1.0
        if statistics.stdev(map(math.log, ratios)) > NOISY:
            why = "inconclusive: the pairs differ too much; a quieter machine would tell"
            return Verdict(VerdictKind.NOT_DECIDED, is_open=is_open, why=why)
        return Verdict(VerdictKind.NO_GAIN, is_open=is_open, why=_less())
    is_open = len(ratios) < MOST_PAIRS
    more = "more time (--budget)" if is_open else "a quieter machine"
    why = f"inconclusive: it may gain less than {MIN_GAIN:g}×; {more} would tell"
    return Verdict(VerdictKind.NOT_DECIDED, is_open=is_open, why=why)


def _less() -> str:
    return f"gains less than {MIN_GAIN:g}×"


def looked_interval(ratios: Sequence[float], *, widened: float = 1.0) -> Measured:
    """Return the interval of ratios that may be looked at after every pair.

    Args:
        ratios: one per pair, at least `MIN_PAIRS`.
        widened: a factor on the width, for pairs that were not measured in turns.
    """
    return interval(ratios, widened=widened, t=_LOOKS[min(len(ratios), MOST_PAIRS)])


@dataclass(frozen=True)
class Outcome:
    """What became of one candidate: measured, compared, accepted or not, and why.

    Args:
        cause: what it is to remove; several names for all changes together.
        place: the line of the finding, as one says it.
        change: what it does.
        predicted: the gain that was foretold; None of several together.
        kind: its class after the results were compared: the one claimed, or a lower one.
        measured: how much faster it is; None where it could not be measured.
        results: how its results compare, in a few words.
        is_accepted: it is faster, and its results are what its class promises.
        why: why it was not accepted; empty where it was.
        unit: what was compared: the whole run, the whole training, whole epochs or steps.
        took_s: what the proof took.
    """

    cause: str
    place: str
    change: Change
    predicted: Gain | None
    kind: FixClass
    measured: Measured | None
    results: str
    is_accepted: bool
    why: str = ""
    unit: str = ""
    took_s: float = 0.0
