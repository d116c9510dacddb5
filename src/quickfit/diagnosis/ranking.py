"""The order of findings, and which of two that claim the same seconds stays."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from quickfit.findings import MIN_GAIN, Finding, Gain, Severity, Symptom

# A general finding that costs this many times as much as the cause before it comes first.
FAR_MORE = 2.0
# Said where a fix gains more than the time it costs now.
ENDS_SOONER = "the waits in which TensorFlow ends iterators shrink with the time of an epoch"
# What a hidden finding must cost now, and gain then, to be told; and what goes of its time.
MIN_HIDDEN_SHARE, MIN_HIDDEN_GAIN = 0.10, 1.10
HIDDEN_SAVED = (0.4, 0.7, 1.0)
# The gain of a slow finding that is just as severe: 20 % of the time, 10 %, or next to none.
AS_MUCH_AS = {Severity.SEVERE: 1.25, Severity.REPORT: 1.11, Severity.MENTION: 1.0}


def ranked(findings: list[Finding]) -> list[Finding]:
    """Return the findings in the order in which to fix them.

    What trains on wrong numbers comes before all speed, what grows before what is slow from the
    first step on. Then the likely gain decides; the cautious end of the range breaks near ties, so
    that a certain 1.8 comes before a possible 1.9. What runs out has no gain, and counts as what
    just makes a slow finding as severe. What the machine does to the script comes last: the
    script's own causes hold beside it. A large part without a cause comes before a small cause.
    """
    order = _general_first(sorted(findings, key=_rank, reverse=True))
    if not order:
        return order
    return [order[0], *(_after(order[0], finding) for finding in order[1:])]


def _rank(finding: Finding) -> tuple[bool, bool, bool, bool, bool, float, float]:
    # A run that ended, or stands still, has no speed.
    is_wrong = finding.symptom in (Symptom.WRONG, Symptom.CRASH, Symptom.STUCK)
    gain = _of_the_run(_believable(finding.gain), finding.weight)
    if finding.exhaustion is not None:
        gain = AS_MUCH_AS[finding.severity]
    # What grows will cost more than it has so far.
    is_growing = finding.symptom == Symptom.SLOWING_DOWN and finding.severity != Severity.MENTION
    is_crash = finding.symptom == Symptom.CRASH
    is_own = not finding.is_of_machine
    is_told = finding.severity != Severity.MENTION
    return is_crash, is_wrong, is_own, is_told, is_growing, gain, finding.cost_share


def _of_the_run(gain: float, weight: float) -> float:
    """Return what a gain of one part of the run is for all of it."""
    return 1 / (1 - (1 - 1 / gain) * min(weight, 1.0)) if gain > 0 else gain


def of_the_run(finding: Finding, share: float) -> Finding:
    """Return what was found in a loop that does not train, with cost and gain of the whole run.

    Args:
        finding: about the loop.
        share: of the loop in the run.
    """
    if finding.is_of_run or finding.is_of_machine:
        return finding
    gain = finding.gain
    low, likely, high = (_of_the_run(f, share) for f in (gain.low, gain.likely, gain.high))
    return dataclasses.replace(
        finding,
        gain=Gain(low, likely, high, gain.basis),
        cost_share=finding.cost_share * share,
        is_outside_training=True,
    )


def _believable(gain: Gain) -> float:
    return math.cbrt(gain.likely * gain.likely * gain.low)


def _general_first(order: list[Finding]) -> list[Finding]:
    """Return the order with a general finding first that costs far more than the cause before it.

    What a general one gains is a guess, half of what it costs; its seconds are not.
    """
    if len(order) < 2 or not order[1].is_general or order[0].is_general:
        return order
    first, general = order[:2]
    if first.symptom != Symptom.SLOW or general.severity == Severity.MENTION:
        return order
    is_more = general.cost_share * general.weight > FAR_MORE * first.cost_share * first.weight
    if not is_more or general.gain.high <= first.gain.likely:
        return order
    return [general, first, *order[2:]]


def behind_the_first(findings: list[Finding], hidden: list[Finding]) -> list[Finding]:
    """Return findings that gain nothing yet, because something else is the limit until then.

    A callback costs its time, but behind a slow input nobody notices; once that is fixed, it
    is what is left.
    """
    if not findings:
        return []
    first, found = findings[0], []
    for finding in hidden:
        is_beside = not set(finding.claims) & set(first.claims)
        after = _behind(first.gain, finding.cost_share)
        if is_beside and finding.cost_share >= MIN_HIDDEN_SHARE and after.likely >= MIN_HIDDEN_GAIN:
            found.append(dataclasses.replace(finding, after_first=after))
    return found


def _behind(first: Gain, share: float) -> Gain:
    shorter = 1 / first.likely
    left = [max(shorter - part * share, 0.05 * shorter) for part in HIDDEN_SAVED]
    low, likely, high = (shorter / each for each in left)
    return Gain(low, likely, high, "after the first fix")


def _after(first: Finding, finding: Finding) -> Finding:
    """Say what a finding gains once the first one is fixed: the same seconds of a shorter time.

    What the machine does to a run scales all of its time, and is what it was. What gains nothing
    before the first fix keeps what it gains behind it.
    """
    is_behind = finding.after_first is not None and finding.gain.likely < MIN_GAIN
    if finding.is_of_machine or is_behind:
        return finding
    shorter = _left_after(first, finding)

    def still(factor: float) -> float:
        saved = 1 - 1 / factor
        left = shorter - saved
        return shorter / left if left > 0.05 * shorter else factor

    gain = finding.gain
    after = Gain(still(gain.low), still(gain.likely), still(gain.high), "after the first fix")
    return dataclasses.replace(finding, after_first=after)


def _left_after(first: Finding, finding: Finding) -> float:
    """Return what the first fix leaves of the time that a finding speaks of.

    That is all of the run, or one of its loops, which a fix somewhere else does not shorten.
    """
    if finding.is_of_run:
        return 1 / _of_the_run(first.gain.likely, first.weight)
    is_same_loop = not first.is_of_run and first.loop == finding.loop
    return 1 / first.gain.likely if is_same_loop else 1.0


# What is left of a finding after a larger one took its seconds, to be worth telling.
MIN_LEFT_SHARE = 0.05
# A more exact cause explains another one if it costs more than this part of it.
MOST = 0.5
# Claims on something that is no part of the breakdown, but lies in others.
_NO_PARTS = ("epoch_start", "first_step")


def without_double_claims(
    findings: list[Finding], shares: Mapping[str, float] | None = None
) -> list[Finding]:
    """Return the findings with every second of the run claimed at most once.

    Findings that take their seconds from the same part of the time are ordered by gain; a later
    one keeps only what the earlier ones left, and is dropped when that is next to nothing.

    Args:
        findings: what was found.
        shares: of the parts of the breakdown; without, a part holds one finding.
    """
    kept: list[Finding] = []
    parts = _Parts(dict(shares or {}))
    for finding in sorted(findings, key=_order):
        if finding.symptom in (Symptom.WRONG, Symptom.CRASH, Symptom.STUCK):
            kept.append(finding)  # what is wrong or stuck is told, whatever it costs
            continue
        left = parts.left_for(finding)
        if left < finding.cost_share and left < _least(finding):
            continue
        kept.append(_reduced(finding, left))
        parts.take(finding.claims, left)
    return kept


def without_vaguer(
    findings: list[Finding], says_more_than: Mapping[str, tuple[str, ...]]
) -> list[Finding]:
    """Return the findings without those that a more exact one explains most of.

    Args:
        findings: what was found.
        says_more_than: by cause, those it is more exact than.
    """
    costs = {finding.cause: finding.cost_share for finding in findings}
    explained: dict[str, float] = {}
    for cause, cost in costs.items():
        for vaguer in says_more_than.get(cause, ()):
            explained[vaguer] = max(explained.get(vaguer, 0.0), cost)
    return [f for f in findings if explained.get(f.cause, 0.0) <= MOST * f.cost_share]


def _order(finding: Finding) -> tuple[int, float]:
    if finding.is_general:
        return 2, -finding.gain.likely  # it names what the others leave over
    if finding.symptom == Symptom.SLOWING_DOWN:
        return -2, -finding.gain.likely  # that a part grows says more than that it is large
    is_spikes = finding.symptom == Symptom.SPIKES
    # Steps that are slow now and then have a cause of its own that says more, as a rule. A line of
    # the script between two steps has none: that a loop is slow in general says less.
    place = 0 if not is_spikes else -1 if finding.claims[:1] == ("between",) else 1
    return place, -finding.gain.likely


def _least(finding: Finding) -> float:
    """Return what must be left of a finding to tell of it; of slow steps, most."""
    if finding.symptom == Symptom.SPIKES:
        return max(MIN_LEFT_SHARE, finding.cost_share / 2)
    return MIN_LEFT_SHARE


class _Parts:
    """The parts of the time, and how much of each was claimed."""

    def __init__(self, shares: dict[str, float]) -> None:
        self._shares = shares
        self._taken: dict[str, float] = {}

    def left_for(self, finding: Finding) -> float:
        """Return the share that a finding may still claim."""
        if not any(self._taken.get(part) for part in finding.claims):
            return finding.cost_share  # its own measure is better than the breakdown's
        if not self._shares or any(part in _NO_PARTS for part in finding.claims):
            return finding.cost_share - max(self._taken.get(p, 0.0) for p in finding.claims)
        return min(finding.cost_share, sum(self._room(part) for part in finding.claims))

    def take(self, claims: tuple[str, ...], share: float) -> None:
        """Note that a finding claims a share, of its parts in their order."""
        for number, part in enumerate(claims):
            is_last = number == len(claims) - 1
            is_whole = is_last or part in _NO_PARTS or not self._shares
            taken = share if is_whole else min(share, self._room(part))
            self._taken[part] = self._taken.get(part, 0.0) + taken
            share -= 0.0 if is_whole else taken

    def _room(self, part: str) -> float:
        return max(self._shares.get(part, 0.0) - self._taken.get(part, 0.0), 0.0)


# Parts that overlap in time: what a cause says of one of them explains the others.
_SAME_TIME = (
    {"input_wait", "epoch_start", "first_step"},
    {"between", "logs", "looks", "copies", "checkpoint", "fit_calls", "epoch_ends"},
    {"validation", "looks", "looking_loop", "epoch_callbacks", "callbacks"},
    {"tracing", "fit_calls", "first_step"},
    {"between_loops", "epoch_start", "epoch_ends"},
    {"saving", "checkpoint"},
)


def without_explained(findings: list[Finding]) -> list[Finding]:
    """Return the findings without general ones whose time another cause explains.

    That is one at the same line, or one about the same part of the time. What a line keeps in
    memory does not explain the time it takes.
    """
    causes = [f for f in findings if not f.is_general and f.exhaustion is None]
    places = {(f.where.file, f.where.line) for f in causes if f.where is not None}
    claimed = {part for finding in causes for part in finding.claims}
    explained = claimed.union(*(group for group in _SAME_TIME if claimed & group))
    kept = []
    for finding in findings:
        where = finding.where
        is_placed = where is not None and (where.file, where.line) in places
        if not finding.is_general or not (is_placed or explained & {*finding.claims[:1]}):
            kept.append(finding)
    return kept


def of_the_whole(finding: Finding, steps_share: float, ends_share: float = 0.0) -> Finding:
    """Return a finding about the steps as one about all of the training, validation included.

    Ending an iterator takes a part of its own life (decision 0009): shorter epochs are likely to
    end sooner, too. Where that is much of the gain, it is said.
    """
    told = _reduced(finding, finding.cost_share * steps_share)
    shorter = _reduced(finding, finding.cost_share * min(steps_share + ends_share, 1.0))
    low, gain = told.gain.low, shorter.gain
    is_much = gain.likely >= MIN_GAIN * told.gain.likely
    basis = f"{gain.basis}; {ENDS_SOONER}" if is_much else gain.basis
    return dataclasses.replace(told, gain=Gain(low, gain.likely, gain.high, basis))


def _reduced(finding: Finding, left: float) -> Finding:
    """Return a finding that costs, and gains, only this share of the time."""
    if not finding.cost_share:
        return finding
    part = left / finding.cost_share

    def smaller(factor: float) -> float:
        return 1 / (1 - (1 - 1 / factor) * part)

    gain = finding.gain
    reduced = Gain(smaller(gain.low), smaller(gain.likely), smaller(gain.high), gain.basis)
    return dataclasses.replace(finding, cost_share=left, gain=reduced)
