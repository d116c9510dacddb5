"""Biggest believable gain first, and what each further fix would still gain after the first."""

from __future__ import annotations

import dataclasses
import math

from quickfit.findings import Finding, Gain


def ranked(findings: list[Finding]) -> list[Finding]:
    """Return the findings in the order in which to fix them.

    The likely gain decides; the cautious end of the range breaks near ties, so that a certain
    1.8 comes before a possible 1.9.
    """
    order = sorted(findings, key=lambda f: (_believable(f.gain), f.cost_share), reverse=True)
    if not order:
        return order
    first = order[0].gain
    return [order[0], *(_after(first, finding) for finding in order[1:])]


def _believable(gain: Gain) -> float:
    return math.sqrt(gain.likely * gain.low)


def _after(first: Gain, finding: Finding) -> Finding:
    """Say what a finding gains once the first one is fixed: the same seconds of a shorter run."""
    shorter = 1 / first.likely

    def still(factor: float) -> float:
        saved = 1 - 1 / factor
        left = shorter - saved
        return shorter / left if left > 0.05 * shorter else factor

    gain = finding.gain
    after = Gain(still(gain.low), still(gain.likely), still(gain.high), "after the first fix")
    return dataclasses.replace(finding, after_first=after)
