"""Biggest believable gain first, and what each further fix would still gain after the first."""

from __future__ import annotations

import dataclasses
import math

from quickfit.findings import Finding, Gain, Severity, Symptom

# A fix that gains less is not worth anybody's time.
MIN_GAIN = 1.05
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
    script's own causes hold beside it.
    """
    order = sorted(findings, key=_rank, reverse=True)
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
