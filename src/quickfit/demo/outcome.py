"""What the demo shows at its end: the predicted and the measured speed-up, side by side."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit import units
from quickfit.findings import Finding, Gain
from quickfit.measuring.interleave import Comparison


@dataclass(frozen=True)
class Outcome:
    """What quickfit named and predicted, and what was measured.

    Args:
        finding: the first finding of the diagnosis; None where nothing was found.
        measured: the slow script (first) against the fixed one (second).
    """

    finding: Finding | None
    measured: Comparison

    @property
    def is_inside(self) -> bool:
        """Whether the measured speed-up lies in the predicted range, to the digits shown."""
        if self.finding is None:
            return False
        gain = self.finding.gain
        return round(gain.low, 2) <= round(self.measured.speed_up, 2) <= round(gain.high, 2)


def lines(outcome: Outcome) -> list[str]:
    """Return the table and the sentence under it."""
    slow, fixed = outcome.measured.first, outcome.measured.second
    rows = [
        ("", "slow.py", "fixed.py"),
        ("wall time per step", units.seconds(slow.step_s), units.seconds(fixed.step_s)),
        ("CPU time per step", units.seconds(slow.step_cpu_s), units.seconds(fixed.step_cpu_s)),
        ("steps measured", units.count(slow.steps), units.count(fixed.steps)),
        ("", "", ""),
        ("", "predicted", "measured"),
        ("speed-up", _predicted(outcome.finding), _times(outcome.measured.speed_up)),
    ]
    table = [f"    {what:<20}{left:<28}{right}".rstrip() for what, left, right in rows]
    return [*table, "", *(f"    {text}" for text in _sentences(outcome))]


def _predicted(finding: Finding | None) -> str:
    if finding is None:
        return "nothing"
    return f"{span(finding.gain)}, likely {_times(finding.gain.likely)}"


def span(gain: Gain) -> str:
    """Return the range of a gain with the digits the measured value is shown with."""
    return f"{gain.low:.2f}–{gain.high:.2f}×"


def _times(value: float) -> str:
    # One digit more than a report shows: here two numbers are held against each other.
    return f"{value:.2f}×"


def _sentences(outcome: Outcome) -> list[str]:
    measured = outcome.measured
    rounds = (
        f"One pair of runs, {len(measured.ratios)} rounds in turn; half of the rounds lie within"
        f" ±{measured.spread:.2f} of their median."
    )
    return [_judgement(outcome), rounds]


def _judgement(outcome: Outcome) -> str:
    if outcome.finding is None:
        return "quickfit named no cause in this run, so there is no prediction to hold it against."
    if outcome.is_inside:
        return "The measured speed-up lies inside the predicted range."
    side = "above" if outcome.measured.speed_up > outcome.finding.gain.high else "below"
    return f"The measured speed-up lies outside the predicted range: {side} it."
