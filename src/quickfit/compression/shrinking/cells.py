"""The cells of the table of candidates: every number as text, for the terminal and the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from quickfit import units
from quickfit.compression.shrinking.rows import Figures, Row, Verdict, time_of
from quickfit.compression.shrinking.shrunk import Shrunk

NOTHING = "–"
FRONT_MARK = "*"


@dataclass(frozen=True)
class Column:
    """One column: its head, and the cell of a row beside the original's figures."""

    head: str
    cell: Callable[[Row, Figures], str]


def columns(shrunk: Shrunk) -> list[Column]:
    """Return the columns of a table: what counts for this purpose."""
    shared = [
        Column("candidate", lambda row, _: row.name),
        Column("accuracy", lambda row, _: accuracy(row.figures.accuracy)),
        Column("points", _points),
    ]
    if shrunk.for_training:
        kind = [
            Column("step", lambda row, _: _time(row.figures.step_s)),
            Column("faster", lambda row, base: _faster(row, base, for_training=True)),
            Column("parameters", lambda row, _: _count(row.figures.parameters)),
            Column("flops", lambda row, base: _share(row.figures.flops, base.flops)),
        ]
    else:
        kind = [
            Column("batch 1", lambda row, _: _time(row.figures.latency_s.get(1))),
            Column("faster", lambda row, base: _faster(row, base, for_training=False)),
            Column("batch 64", lambda row, _: _time(row.figures.latency_s.get(64))),
            Column("file", lambda row, _: _size(row.figures.file_bytes)),
            Column("flops", lambda row, base: _share(row.figures.flops, base.flops)),
        ]
    return [*shared, *kind, Column("verdict", lambda row, _: verdict(row))]


def cells(shrunk: Shrunk) -> list[list[str]]:
    """Return the rows of a table as text, the original first."""
    base = shrunk.rows[0].figures
    return [[column.cell(row, base) for column in columns(shrunk)] for row in shrunk.rows]


def verdict(row: Row) -> str:
    """Return what became of a row, in a word."""
    return "" if row.verdict is Verdict.ORIGINAL else row.verdict.value


def reasons(shrunk: Shrunk) -> list[str]:
    """Return why rows are what they are; those with the same reason together."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in shrunk.rows:
        if row.reason:
            found.setdefault((row.verdict.value, row.reason), []).append(row.name)
    return [f"{', '.join(names)}: {key[1]}" for key, names in found.items()]


def accuracy(value: float | None) -> str:
    """Return an accuracy in percent; what is no share, as it is."""
    if value is None:
        return NOTHING
    return f"{100 * value:.1f} %" if 0 <= value <= 1 else f"{value:.4g}"


def _points(row: Row, base: Figures) -> str:
    value = row.figures.accuracy
    if value is None or base.accuracy is None or row.verdict is Verdict.ORIGINAL:
        return NOTHING
    points = round(100 * (value - base.accuracy), 1)
    return f"{points:+.1f}" if points else "0.0"


def _faster(row: Row, base: Figures, *, for_training: bool) -> str:
    own, old = (time_of(one, for_training=for_training) for one in (row.figures, base))
    return NOTHING if not own or not old else units.factor(old / own)


def _time(value: float | None) -> str:
    return NOTHING if value is None else units.seconds(value)


def _size(value: int | None) -> str:
    return NOTHING if value is None else units.size(value)


def _count(value: int | None) -> str:
    return NOTHING if value is None else units.count(value)


def _share(value: int | None, base: int | None) -> str:
    return NOTHING if value is None or not base else units.share(value / base)
