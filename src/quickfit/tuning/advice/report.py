"""Shows an advice: as plain text, or with colour on a terminal."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from quickfit import terminal, units
from quickfit.lab.statistics import Measured
from quickfit.tuning.advice.request import budget_words
from quickfit.tuning.advice.result import Advice, ChangeRow, ChangeVerdict, LossChange, script_lines
from quickfit.tuning.trials.settings import Setting

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 100
_CODE = "    "
_LEADS = ("Put this", "Nothing", "Not decided", "Interrupted")


def advice_text(advice: Advice) -> str:
    """Return an advice as plain text."""
    table = ["", plain_table(advice.rows, first_cells(advice))]
    return "\n".join(
        [*_wrap_paragraphs(_advice_head(advice)), *table, *_wrap_paragraphs(_advice_end(advice))]
    )


def colored_advice(advice: Advice, width: int = WIDTH) -> str:
    """Return an advice for a terminal of some width."""
    written = io.StringIO()
    console = terminal.console(written, width=width, force_terminal=True)
    first, *head = _advice_head(advice)
    console.print(first, style="bold")
    for line in head:
        console.print(line, style="bold yellow" if line.startswith("Your input") else "")
    console.print()
    console.print(rich_table(advice.rows, first_cells(advice)))
    for line in _advice_end(advice):
        style = "bold" if line.startswith(_LEADS) else ""
        # Lines of code stay whole, so that they can be copied.
        console.print(line, style=style, soft_wrap=line.startswith(_CODE))
    return written.getvalue().rstrip("\n")


def first_cells(advice: Advice) -> tuple[str, ...]:
    """Return the cells of the training as it is."""
    base = advice.baseline
    learned = base.learned
    loss = f"{loss_figure(learned.before)} → {loss_figure(learned.after)}" if learned else NO_VALUE
    rate = NO_VALUE if base.samples_per_s is None else units.rate(base.samples_per_s)
    return ("as it is", rate, "1.00×", units.size(base.peak_bytes), NO_VALUE, loss, "")


def _advice_head(advice: Advice) -> Iterator[str]:
    base = advice.baseline
    yield f"{advice.target} on {advice.device}"
    step = f", {units.seconds(base.step_s)} a step" if base.step_s is not None else ""
    yield f"as it is: batch {base.batch}{step}, {units.count(base.parameters)} parameters"
    if advice.is_input_bound and advice.input_gain is not None:
        claim = "is" if advice.input_gain.pairs > 1 else "may be"
        yield (
            f"Your input {claim} the limit: with batches from memory it trains"
            f" {gain_text(advice.input_gain)} as fast. Make the input faster first; a faster step"
            f" gains little while it waits. {advice.input_hint}".rstrip()
        )


def _advice_end(advice: Advice) -> Iterator[str]:
    if advice.baseline.learned is not None:
        samples = units.count(advice.baseline.learned.samples)
        yield f"loss: before and after {samples} samples, on the same samples for every change"
    yield from row_reasons(advice.rows)
    yield ""
    yield from _advised_lines(advice)
    yield from _undecided_lines(advice)
    yield from _other_lines(advice)
    yield from advice.notes
    if advice.is_interrupted:
        yield "Interrupted: this is what was known by then."
    yield f"The trials took {units.seconds(advice.took_s)}."


def _advised_lines(advice: Advice) -> Iterator[str]:
    if advice.chosen is None or advice.chosen.gain is None:
        if not any(row.gain for row in advice.rows):
            yield "Nothing was measured beside your training: the reasons are above."
        elif not advice.undecided:
            yield "Nothing to change: no change was faster for sure (a lower bound of 1.05×)."
        return
    yield f"Put this into your script, {gain_text(advice.chosen.gain)} as many samples per second:"
    for line in advice.lines:
        yield f"{_CODE}{line}"
    yield from advice.remarks


def _undecided_lines(advice: Advice) -> Iterator[str]:
    """Yield what may still be a gain, and what would tell."""
    if not advice.undecided:
        return
    named = ", ".join(f"{row.name} {gain_text(row.gain)}" for row in advice.undecided)
    text = f"Not decided, and promising: {named}."
    if advice.is_interrupted or advice.deciding_budget_s is None:
        yield text
    else:
        words = budget_words(advice.deciding_budget_s, is_command=advice.is_command)
        yield f"{text} More time would decide: {words}"


def _other_lines(advice: Advice) -> Iterator[str]:
    """Yield the lines of what is faster and learns less: its user decides."""
    rows = [row for row in advice.rows if row.verdict is ChangeVerdict.LEARNS_LESS]
    if not rows:
        return
    yield "Faster, but it learned less from the same samples; yours to decide:"
    for row in rows:
        for line in script_lines(Setting(**row.setting)):
            yield f"{_CODE}{line}"


def _wrap_paragraphs(paragraphs: Iterable[str]) -> Iterator[str]:
    for one in paragraphs:
        if not one or one.startswith(_CODE):
            yield one
        else:
            yield from textwrap.wrap(one, WIDTH, break_long_words=False, break_on_hyphens=False)


TABLE_HEADINGS = ("change", "samples/s", "CPU", "memory", "pays after", "loss", "verdict")
NO_VALUE = "–"
_STYLES = {
    ChangeVerdict.ADVISED: "bold green",
    ChangeVerdict.FAILED: "red",
    ChangeVerdict.LEARNS_LESS: "yellow",
    ChangeVerdict.NOT_DECIDED: "yellow",
    ChangeVerdict.NOT_TRIED: "dim",
}


def row_cells(row: ChangeRow) -> tuple[str, ...]:
    """Return what a row shows under each of the headings."""
    return (
        row.name,
        gain_text(row.gain),
        NO_VALUE if row.cpu is None else f"{row.cpu:.2f}×",
        _memory_text(row),
        _pays_text(row),
        loss_text(row.loss),
        row.verdict.value,
    )


def plain_table(rows: Sequence[ChangeRow], first: Sequence[str] | None = None) -> str:
    """Return rows as an aligned table without colour.

    Args:
        rows: in the order in which they are shown.
        first: the cells of a line above them, such as the training without any change.
    """
    lines = [TABLE_HEADINGS, *([tuple(first)] if first else []), *map(row_cells, rows)]
    wide = [max(len(line[place]) for line in lines) for place in range(len(TABLE_HEADINGS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, wide, strict=True)).rstrip()
        for line in lines
    )


def rich_table(rows: Sequence[ChangeRow], first: Sequence[str] | None = None) -> Table:
    """Return the same table for a terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold underline")
    for title in TABLE_HEADINGS:
        table.add_column(title, overflow="fold")
    if first:
        table.add_row(*map(Text, first), style="dim")
    for row in rows:
        table.add_row(*map(Text, row_cells(row)), style=_STYLES.get(row.verdict, ""))
    return table


def row_reasons(rows: Sequence[ChangeRow]) -> list[str]:
    """Return a sentence for every row that has a reason; rows with the same one share it."""
    named: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.reason:
            named.setdefault((row.verdict.value, row.reason), []).append(row.name)
    return [f"{', '.join(names)}: {verdict}: {why}" for (verdict, why), names in named.items()]


def gain_text(gain: Measured | None) -> str:
    """Return a gain with its interval, or that it is of one pair only."""
    if gain is None:
        return NO_VALUE
    if math.isinf(gain.high):
        return f"{gain.mean:.2f}× (1 pair)"
    return f"{gain.mean:.2f}× ({gain.low:.2f}–{gain.high:.2f})"


def loss_text(loss: LossChange | None) -> str:
    """Return a loss before and after."""
    if loss is None:
        return NO_VALUE
    return f"{loss_figure(loss.before)} → {loss_figure(loss.after)}"


def loss_figure(value: float) -> str:
    """Return a loss with three digits that mean something."""
    if not math.isfinite(value):
        return "not finite"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _memory_text(row: ChangeRow) -> str:
    if row.peak_bytes is None:
        return NO_VALUE
    if row.more_bytes is None:
        return units.size(row.peak_bytes)
    sign = "+" if row.more_bytes >= 0 else "-"
    return f"{units.size(row.peak_bytes)} ({sign}{units.size(abs(row.more_bytes))})"


def _pays_text(row: ChangeRow) -> str:
    if row.pays_after is None:
        return NO_VALUE
    return f"{units.count(row.pays_after)} steps" if row.pays_after else "at once"
