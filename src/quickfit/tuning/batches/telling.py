"""What was found, as text: a line per size while it is searched, and the table at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from quickfit import terminal, units
from quickfit.tuning.batches.rows import Row, best

_HEADS = ("batch", "step", "samples/s", "of best", "memory", "")


def line(row: Row) -> str:
    """Return what is known of one size."""
    if not row.is_measured:
        return f"batch {row.batch}: {row.words}"
    return (
        f"batch {row.batch}: {units.seconds(row.step_s)} per step, "
        f"{units.count(row.samples_per_s)} samples/s, {units.size(row.peak_bytes)}"
    )


def to_terminal() -> Callable[[str], None]:
    """Return what writes a line to the terminal at once; where there is none, nothing."""
    if not sys.stderr.isatty():
        return lambda line: None

    return lambda line: terminal.write(sys.stderr, f"{line}\n")


def table(rows: Sequence[Row], chosen: int | None) -> list[str]:
    """Return the lines of a table with a row per size; an arrow is before the chosen one."""
    cells = [_HEADS, *(_cells(row, best(rows)) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEADS) - 1)]
    lines = []
    for number, row in enumerate(cells):
        is_chosen = number > 0 and rows[number - 1].batch == chosen
        figures = "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=False))
        lines.append(f"{'→' if is_chosen else ' '} {figures}  {row[-1]}".rstrip())
    return lines


def _cells(row: Row, most: float) -> tuple[str, ...]:
    own = "your batch" if row.is_own else ""
    if not row.is_measured:
        return (str(row.batch), "–", "–", "–", "–", "; ".join(filter(None, (own, row.words))))
    return (
        str(row.batch),
        units.seconds(row.step_s),
        units.count(row.samples_per_s),
        units.share(row.samples_per_s / most),
        units.size(row.peak_bytes),
        "; ".join(filter(None, (own, row.words))),
    )
