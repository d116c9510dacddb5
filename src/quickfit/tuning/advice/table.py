"""Shows rows as a table: one set of cells for plain text and for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quickfit import units
from quickfit.measuring.intervals import Measured
from quickfit.tuning.advice.rows import Loss, Row, Verdict

if TYPE_CHECKING:
    from rich.table import Table

HEADINGS = ("change", "samples/s", "CPU", "memory", "pays after", "loss", "verdict")
NOTHING = "–"
_STYLES = {
    Verdict.ADVISED: "bold green",
    Verdict.FAILED: "red",
    Verdict.LEARNS_LESS: "yellow",
    Verdict.NOT_DECIDED: "yellow",
    Verdict.NOT_TRIED: "dim",
}


def cells(row: Row) -> tuple[str, ...]:
    """Return what a row shows under each of the headings."""
    return (
        row.name,
        gain_text(row.gain),
        NOTHING if row.cpu is None else f"{row.cpu:.2f}×",
        _memory(row),
        _pays(row),
        loss_text(row.loss),
        row.verdict.value,
    )


def plain(rows: Sequence[Row], first: Sequence[str] | None = None) -> str:
    """Return rows as an aligned table without colour.

    Args:
        rows: in the order in which they are shown.
        first: the cells of a line above them, such as the training without any change.
    """
    lines = [HEADINGS, *([tuple(first)] if first else []), *map(cells, rows)]
    wide = [max(len(line[place]) for line in lines) for place in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, wide, strict=True)).rstrip()
        for line in lines
    )


def rich_table(rows: Sequence[Row], first: Sequence[str] | None = None) -> Table:
    """Return the same table for a terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold underline")
    for title in HEADINGS:
        table.add_column(title, overflow="fold")
    if first:
        table.add_row(*map(Text, first), style="dim")
    for row in rows:
        table.add_row(*map(Text, cells(row)), style=_STYLES.get(row.verdict, ""))
    return table


def reasons(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for every row that has a reason; rows with the same one share it."""
    named: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.reason:
            named.setdefault((row.verdict.value, row.reason), []).append(row.name)
    return [f"{', '.join(names)}: {verdict}: {why}" for (verdict, why), names in named.items()]


def gain_text(gain: Measured | None) -> str:
    """Return a gain with its interval, or that it is of one pair only."""
    if gain is None:
        return NOTHING
    if math.isinf(gain.high):
        return f"{gain.mean:.2f}× (1 pair)"
    return f"{gain.mean:.2f}× ({gain.low:.2f}–{gain.high:.2f})"


def loss_text(loss: Loss | None) -> str:
    """Return a loss before and after."""
    if loss is None:
        return NOTHING
    return f"{loss_figure(loss.before)} → {loss_figure(loss.after)}"


def loss_figure(value: float) -> str:
    """Return a loss with three digits that mean something."""
    if not math.isfinite(value):
        return "not finite"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _memory(row: Row) -> str:
    if row.peak_bytes is None:
        return NOTHING
    if row.more_bytes is None:
        return units.size(row.peak_bytes)
    sign = "+" if row.more_bytes >= 0 else "-"
    return f"{units.size(row.peak_bytes)} ({sign}{units.size(abs(row.more_bytes))})"


def _pays(row: Row) -> str:
    if row.pays_after is None:
        return NOTHING
    return f"{units.count(row.pays_after)} steps" if row.pays_after else "at once"
