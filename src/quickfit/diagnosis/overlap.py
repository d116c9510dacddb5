"""Two findings may not claim the same seconds: the larger one keeps them."""

from __future__ import annotations

import dataclasses

from quickfit.findings import Finding, Gain

# What is left of a finding after a larger one took its seconds, to be worth telling.
MIN_LEFT_SHARE = 0.05


def without_double_claims(findings: list[Finding]) -> list[Finding]:
    """Return the findings with every second of the run claimed at most once.

    Findings that take their seconds from the same part of the time are ordered by gain; a later
    one keeps only what the earlier ones left, and is dropped when that is next to nothing.
    """
    kept: list[Finding] = []
    taken: dict[str, float] = {}
    for finding in sorted(findings, key=lambda f: f.gain.likely, reverse=True):
        already = max((taken.get(part, 0.0) for part in finding.claims), default=0.0)
        left = finding.cost_share - already
        if already and left < MIN_LEFT_SHARE:
            continue
        kept.append(_reduced(finding, left) if already else finding)
        for part in finding.claims:
            taken[part] = taken.get(part, 0.0) + left
    return kept


def of_the_whole(finding: Finding, steps_share: float) -> Finding:
    """Return a finding about the steps as one about all of the training, validation included."""
    return _reduced(finding, finding.cost_share * steps_share)


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
