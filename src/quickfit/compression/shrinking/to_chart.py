"""A result as a chart: accuracy against time in SVG, which every browser shows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from quickfit import units
from quickfit.compression.shrinking.cells import accuracy
from quickfit.compression.shrinking.rows import Kind, Row, Verdict, time_of
from quickfit.compression.shrinking.shrunk import Shrunk

WIDTH, HEIGHT = 820, 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 30, 50, 60
_LINE = 12
_COLORS = {Kind.KERAS: "#3564b4", Kind.LITERT: "#c26a00"}
_FADED = "#b4b4b4"
_LEVELS = 6
# Sums of decimal fractions are a little off.
_NEARLY = 1e-9


@dataclass(frozen=True)
class Point:
    """A row in the plane: time in seconds, accuracy from 0 to 1."""

    row: Row
    time_s: float
    accuracy: float


@dataclass(frozen=True)
class Scale:
    """Where values of one axis go; `low` and `high` are at `start` and `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the place of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def chart(shrunk: Shrunk) -> str:
    """Return the chart; rows without a time or an accuracy are not in it."""
    points = list(_points(shrunk))
    body = "\n".join(_drawing(points, shrunk) if points else [_text(WIDTH / 2, HEIGHT / 2, _EMPTY)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"'
        f' viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n{body}\n</svg>\n'
    )


_EMPTY = "Nothing was measured."


def _points(shrunk: Shrunk) -> Iterator[Point]:
    for row in shrunk.rows:
        time_s = time_of(row.figures, for_training=shrunk.for_training)
        if time_s and row.figures.accuracy is not None and row.is_there:
            yield Point(row, time_s, row.figures.accuracy)


def _drawing(points: list[Point], shrunk: Shrunk) -> Iterator[str]:
    times = _span([math.log10(point.time_s) for point in points], least=0.2)
    marks = _span([point.accuracy for point in points], least=0.01)
    x = Scale(*times, _LEFT, WIDTH - _RIGHT)
    y = Scale(*marks, HEIGHT - _BOTTOM, _TOP)
    yield from _axes(x, y, shrunk)
    best = max(1.0, *(point.accuracy for point in points))  # above 1 only with marks of the user's
    yield from _levels(x, y, best)
    places = [(x.at(math.log10(one.time_s)), y.at(one.accuracy)) for one in points]
    yield _front([place for place, one in zip(places, points, strict=True) if one.row.is_on_front])
    labels = _label_heights(places)
    for point, place, height in zip(points, places, labels, strict=True):
        yield _dot(point, place, shrunk.chosen)
        yield _label(point, place, height)


def _span(values: list[float], *, least: float) -> tuple[float, float]:
    """Return the ends of an axis, with some air; never nothing."""
    low, high = min(values), max(values)
    air = max(0.08 * (high - low), least / 2)
    return low - air, high + air


def _axes(x: Scale, y: Scale, shrunk: Shrunk) -> Iterator[str]:
    what = (
        "time of a training step" if shrunk.for_training else "time of a prediction of one sample"
    )
    yield _text(WIDTH / 2, 22, f"accuracy against the {what}", size=15)
    yield _text(WIDTH / 2, HEIGHT - 14, f"{what} (faster to the left)")
    for value in _ticks(x):
        yield _rule(x.at(value), y.start, x.at(value), y.end)
        yield _text(x.at(value), y.start + 18, units.seconds(10**value))


def _levels(x: Scale, y: Scale, best: float) -> Iterator[str]:
    """Draw round accuracies, none above what there can be."""
    step = _round_step((y.high - y.low) / _LEVELS)
    for number in range(math.ceil(y.low / step), math.floor(y.high / step) + 1):
        value = number * step
        if value <= best + step * _NEARLY:
            yield _rule(x.start, y.at(value), x.end, y.at(value))
            yield _text(x.start - 6, y.at(value) + 4, accuracy(min(value, best)), anchor="end")


def _round_step(least: float) -> float:
    """Return the next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(lead * power for lead in (1, 2, 5, 10) if lead * power >= least * (1 - _NEARLY))


def _ticks(x: Scale) -> list[float]:
    """Return round times on the axis: 1, 2 and 5 of each power of ten."""
    powers = range(math.floor(x.low), math.ceil(x.high) + 1)
    found = [power + math.log10(lead) for power in powers for lead in (1, 2, 5)]
    inside = [value for value in found if x.low <= value <= x.high]
    step = math.ceil(len(inside) / 10) or 1
    return inside[::step]


def _front(places: list[tuple[float, float]]) -> str:
    joined = " ".join(f"{left:.1f},{top:.1f}" for left, top in sorted(places))
    return f'<polyline points="{joined}" fill="none" stroke="#888" stroke-dasharray="4 3"/>'


def _dot(point: Point, place: tuple[float, float], chosen: str | None) -> str:
    row = point.row
    color = _FADED if row.verdict is Verdict.REJECTED else _COLORS[row.kind]
    radius = 8 if row.name == chosen else 5
    ring = ' stroke="black" stroke-width="2"' if row.name == chosen else ""
    told = f"{row.name}: {accuracy(point.accuracy)}, {units.seconds(point.time_s)}"
    size = row.figures.file_bytes
    told += "" if size is None else f", {units.size(size)}"
    return (
        f'<circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{radius}" fill="{color}"{ring}>'
        f"<title>{escape(told)}</title></circle>"
    )


def _label(point: Point, place: tuple[float, float], height: float) -> str:
    is_right = place[0] > WIDTH * 0.7
    left = place[0] - 10 if is_right else place[0] + 10
    color = "#999" if point.row.verdict is Verdict.REJECTED else "#222"
    anchor = "end" if is_right else "start"
    return _text(left, height + 4, point.row.name, anchor=anchor, color=color, size=10)


def _label_heights(places: list[tuple[float, float]]) -> list[float]:
    """Return where names go so that none stands on another one nearby."""
    heights: list[float] = []
    for left, top in places:
        taken = [
            height
            for (other, _), height in zip(places, heights, strict=False)
            if abs(other - left) < WIDTH / 4
        ]
        heights.append(_free(top, taken))
    return heights


def _free(top: float, taken: list[float]) -> float:
    """Return the nearest height that is free."""
    for step in range(40):
        for at in (top + step * _LINE, top - step * _LINE):
            is_free = all(abs(at - one) >= _LINE for one in taken)
            if is_free and _TOP - _LINE <= at <= HEIGHT - _BOTTOM:
                return at
    return top


def _rule(left: float, top: float, right: float, bottom: float) -> str:
    ends = f'x1="{left:.1f}" y1="{top:.1f}" x2="{right:.1f}" y2="{bottom:.1f}"'
    return f'<line {ends} stroke="#e4e4e4"/>'


def _text(
    left: float,
    top: float,
    text: str,
    *,
    anchor: str = "middle",
    color: str = "#222",
    size: int = 12,
) -> str:
    return (
        f'<text x="{left:.1f}" y="{top:.1f}" text-anchor="{anchor}" fill="{color}"'
        f' font-size="{size}">{escape(text)}</text>'
    )
