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
    """One column: its head, and the cell of a row beside the original's figures.

    Args:
        head: its first line.
        cell: returns the text for a row.
        is_extra: whether it is left out first where there is little room.
    """

    head: str
    cell: Callable[[Row, Figures], str]
    is_extra: bool = False


def columns(shrunk: Shrunk) -> list[Column]:
    """Return the columns of a table; the times that count for this purpose come first."""
    training = shrunk.for_training
    faster = Column("faster", lambda row, base: _faster(row, base, for_training=training))
    step = Column("step", lambda row, _: _time(row.figures.step_s), not training)
    one, many = (_latency(batch, is_extra=training) for batch in (1, 64))
    times = ([step, faster], [one, many]) if training else ([one, faster, many], [step])
    return [
        Column("candidate", lambda row, _: row.name),
        Column("accuracy", lambda row, _: accuracy(row.figures.accuracy)),
        Column("points", _points),
        *times[0],
        Column("file", lambda row, _: _size(row.figures.file_bytes), training),
        Column("flops", lambda row, base: _share(row.figures.flops, base.flops)),
        Column("parameters", lambda row, _: _count(row.figures.parameters), not training),
        *times[1],
        Column("verdict", lambda row, _: verdict(row)),
    ]


def _latency(batch: int, *, is_extra: bool) -> Column:
    return Column(
        f"batch {batch}", lambda row, _: _time(row.figures.latency_s.get(batch)), is_extra
    )


def cells(shrunk: Shrunk, some: list[Column] | None = None) -> list[list[str]]:
    """Return the rows of a table as text, the original first."""
    base = shrunk.rows[0].figures
    chosen = columns(shrunk) if some is None else some
    return [[column.cell(row, base) for column in chosen] for row in shrunk.rows]


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
