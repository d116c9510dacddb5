"""Which candidates are better than the original, and why the others are not."""

from __future__ import annotations

from dataclasses import replace

from quickfit import units
from quickfit.compression.shrinking.rows import ORIGINAL, Figures, Row, Verdict, time_of, value_of
from quickfit.compression.shrinking.targets import Target

# What is left of the time or the size has to be less than this share to count as a gain: less is
# within what measuring on a shared machine gives.
LEAST_GAIN = 0.95
_SLOWER = 1.05


def judged(row: Row, original: Figures, target: Target, *, for_training: bool) -> Row:
    """Return a row with its verdict.

    It is rejected where it loses too much accuracy, or is neither smaller nor faster (for
    training: not faster) than the original.
    """
    if row.name == ORIGINAL:
        return replace(row, verdict=Verdict.ORIGINAL, reason="")
    if not row.is_there:
        return row
    if row.figures.accuracy is None or time_of(row.figures, for_training=for_training) is None:
        return replace(row, verdict=Verdict.NOT_MEASURED)
    reason = _loss(row.figures, original, target) or _no_gain(
        row.figures, original, for_training=for_training
    )
    if reason:
        return replace(row, verdict=Verdict.REJECTED, reason=reason)
    return replace(row, verdict=Verdict.ACCEPTED, reason=_slower(row.figures, original))


def misses(row: Row, original: Figures, target: Target, *, for_training: bool) -> list[str]:
    """Return the demands of a target that a row does not meet, in words."""
    found = []
    for demand in target.demands:
        value, base = (
            value_of(one, demand.quantity, for_training=for_training)
            for one in (row.figures, original)
        )
        if value is None or base is None:
            found.append(f"{demand.text}: not known")
        elif not demand.is_met(value, base):
            found.append(f"{demand.text}: {_reached(demand.quantity, value, base)}")
    return found


def _reached(quantity: str, value: float, base: float) -> str:
    if quantity == "time":
        # Two digits: 1.96 is less than 2.0.
        return f"{base / value:.2f}× as fast, {units.seconds(value)}"
    shown = units.size(value) if quantity == "size" else units.count(value)
    return f"{shown}, {units.share(value / base)} of the original's"


def _loss(figures: Figures, original: Figures, target: Target) -> str:
    accuracy, base = figures.accuracy, original.accuracy
    if accuracy is None or base is None or target.allows(accuracy, base):
        return ""
    return loss_text(accuracy, base, target)


def loss_text(accuracy: float, base: float, target: Target) -> str:
    """Say that too much accuracy is lost."""
    if target.least_accuracy is not None and accuracy < target.least_accuracy:
        return f"right for {accuracy:.1%}; {target.least_accuracy:.1%} is asked for"
    allowed = f"{100 * target.most_loss:g}" if target.most_loss > 0 else "none"
    return f"loses {100 * (base - accuracy):.1f} points; {allowed} allowed"


def _no_gain(figures: Figures, original: Figures, *, for_training: bool) -> str:
    time_ratio = _ratio(
        time_of(figures, for_training=for_training), time_of(original, for_training=for_training)
    )
    if time_ratio is not None and time_ratio < LEAST_GAIN:
        return ""
    shown = "not known" if time_ratio is None else f"{time_ratio:.2f}"
    if for_training:
        return (
            _slow_step(time_ratio, figures, original)
            or f"not faster: {shown} of the time of a step"
        )
    size_ratio = _ratio(figures.file_bytes, original.file_bytes)
    if size_ratio is not None and size_ratio < LEAST_GAIN:
        return ""
    size = "not known" if size_ratio is None else f"{size_ratio:.2f}"
    return f"neither faster nor smaller: {shown} of the time, {size} of the size"


def _slow_step(time_ratio: float | None, figures: Figures, original: Figures) -> str:
    """Warn where fewer operations take more time on this device."""
    if time_ratio is None or time_ratio <= _SLOWER:
        return ""
    told = f"slower on this device: a training step takes {units.factor(time_ratio)} as long"
    work = _ratio(figures.flops, original.flops)
    return (
        told if work is None or work >= 1 else f"{told}, with {units.share(work)} of the operations"
    )


def _slower(figures: Figures, original: Figures) -> str:
    """Say where something that is smaller is slower than the original."""
    slow = [
        f"{units.factor(ratio)} as long for a batch of {batch}"
        for batch, time_s in sorted(figures.latency_s.items())
        if (ratio := _ratio(time_s, original.latency_s.get(batch))) is not None and ratio > _SLOWER
    ]
    return f"smaller, but slower here: {', '.join(slow)}" if slow else ""


def _ratio(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else value / base
