"""Two findings may not claim the same seconds: the larger one keeps them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from quickfit.findings import Finding, Gain, Symptom

# What is left of a finding after a larger one took its seconds, to be worth telling.
MIN_LEFT_SHARE = 0.05
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
    {"between_loops", "fit_calls", "epoch_start"},
    {"saving", "checkpoint"},
)


def without_explained(findings: list[Finding]) -> list[Finding]:
    """Return the findings without general ones whose time another cause explains.

    That is one at the same line, or one about the same part of the time.
    """
    causes = [finding for finding in findings if not finding.is_general]
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
    end sooner, too.
    """
    told = _reduced(finding, finding.cost_share * steps_share)
    shorter = _reduced(finding, finding.cost_share * min(steps_share + ends_share, 1.0))
    low, gain = told.gain.low, shorter.gain
    return dataclasses.replace(told, gain=Gain(low, gain.likely, gain.high, gain.basis))


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
