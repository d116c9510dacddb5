"""The Pareto front: candidates that no other one beats in every respect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quickfit.compression.shrinking.rows import Row, time_of

# Times that differ less than this are the same: it is within what measuring on a shared machine
# gives.
SAME_TIME = 1.05


def with_front(rows: Sequence[Row], *, for_training: bool = False) -> list[Row]:
    """Return the rows with the front marked.

    Compared are accuracy, time and size of the file; for training only accuracy and the time of a
    step. Rows that were not measured are neither on the front nor beat anybody.
    """
    points = {row.name: point for row in rows if (point := _point(row, for_training)) is not None}
    return [
        replace(row, is_on_front=row.name in points and not _is_beaten(row.name, points))
        for row in rows
    ]


_Point = tuple[float, float, float]


def _point(row: Row, for_training: bool) -> _Point | None:
    """Return what a row costs: errors, time, bytes. Less is better in each."""
    time_s = time_of(row.figures, for_training=for_training)
    size = 0.0 if for_training else row.figures.file_bytes
    if not row.is_there or row.figures.accuracy is None or time_s is None or size is None:
        return None
    return 1 - row.figures.accuracy, time_s, float(size)


def _is_beaten(name: str, points: dict[str, _Point]) -> bool:
    order = list(points)
    return any(
        _beats(other, points[name], is_earlier=order.index(key) < order.index(name))
        for key, other in points.items()
        if key != name
    )


def _beats(one: _Point, other: _Point, *, is_earlier: bool) -> bool:
    """Tell whether `one` is nowhere worse, and somewhere better."""
    if not _is_no_worse(one, other):
        return False
    if not _is_no_worse(other, one):
        return True
    # Equal within the tolerance. The exact time decides, so that three of them cannot beat each
    # other in a circle.
    return one[1] < other[1] or (one[1] == other[1] and is_earlier)


def _is_no_worse(one: _Point, other: _Point) -> bool:
    same = (1 + 1e-9, SAME_TIME, 1.0)
    return all(a <= b * factor for a, b, factor in zip(one, other, same, strict=True))
