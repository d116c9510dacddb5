"""Lines through what was measured: the time of a step and its memory, against the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """`at_zero + per_sample × batch`, and how well it fits.

    Args:
        at_zero: what each step has, however small it is.
        per_sample: what each sample adds.
        r2: the share of the variation that the line explains.
        residual: how far the points are from it, as a share of each (root of the mean square).
    """

    at_zero: float
    per_sample: float
    r2: float
    residual: float

    def at(self, batch: float) -> float:
        """Return the value for a batch."""
        return self.at_zero + self.per_sample * batch


def line(points: Sequence[Point]) -> Line | None:
    """Return the line that is nearest to points relative to their size; None for fewer than two.

    Relative, because a step of a large batch takes a hundred times that of a small one: its noise
    alone would outweigh all small ones.
    """
    if len({batch for batch, _ in points}) < 2:
        return None
    weights = [1 / value**2 for _, value in points]
    total = sum(weights)
    x_mean = sum(w * x for w, (x, _) in zip(weights, points, strict=True)) / total
    y_mean = sum(w * y for w, (_, y) in zip(weights, points, strict=True)) / total
    xy = sum(w * (x - x_mean) * (y - y_mean) for w, (x, y) in zip(weights, points, strict=True))
    xx = sum(w * (x - x_mean) ** 2 for w, (x, _) in zip(weights, points, strict=True))
    yy = sum(w * (y - y_mean) ** 2 for w, (_, y) in zip(weights, points, strict=True))
    slope = xy / xx
    start = y_mean - slope * x_mean
    off = [(start + slope * x) / y - 1 for x, y in points]
    squares = sum(share**2 for share in off)
    r2 = 1 - squares / yy if yy > 0 else 1.0
    return Line(start, slope, r2, math.sqrt(squares / len(points)))


def expected_bytes(points: Sequence[Point], batch: int, base_bytes: float = 0.0) -> float | None:
    """Return the memory that a batch will need, on the safe side; None where nothing is known.

    From one point: all of it but the base grows with the batch. From several: the steeper of the
    lines through the last three and the last two, so that memory that grows faster than the batch
    is seen.

    Args:
        points: batches and what they held.
        batch: the one to tell of.
        base_bytes: what is held before there is a model.
    """
    known = sorted(points)
    if not known:
        return None
    top_batch, top_bytes = known[-1]
    if batch <= top_batch:
        return next(value for size, value in known if size >= batch)
    steepest = (top_bytes - (base_bytes if base_bytes < top_bytes else 0.0)) / top_batch
    if len(known) > 1:
        lines = [fit for fit in (line(known[-3:]), line(known[-2:])) if fit is not None]
        slope = max(fit.per_sample for fit in lines)
        # A slope that falls is noise, and says nothing.
        steepest = slope if slope > 0 else steepest
    return top_bytes + steepest * (batch - top_batch)
