"""Shows an advice: as plain text, or with colour on a terminal."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator

from quickfit import terminal, units
from quickfit.lab.statistics import MIN_GAIN
from quickfit.tuning.advice.change_table import (
    NO_VALUE,
    ChangeVerdict,
    gain_text,
    loss_figure,
    plain_table,
    rich_table,
    row_reasons,
)
from quickfit.tuning.advice.result import Advice, script_lines
from quickfit.tuning.trials.settings import Setting

WIDTH = 100
CLASSES = (
    "class: below the name. --apply writes same-results; the others need --accept and their class."
)
CODE = "    "
_LEADS = ("Advised", "Nothing", "Not decided", "Interrupted")
_DIFF_STYLES = {"+": "green", "-": "red", "@": "dim", "d": "dim"}


def advice_text(advice: Advice) -> str:
    """Return an advice as plain text."""
    first = first_cells(advice)
    table = ["", plain_table(advice.rows, first)] if advice.rows else []
    head, end = advice_head(advice), advice_end(advice)
    return "\n".join([*_wrap_paragraphs(head), *table, *_wrap_paragraphs(end)])


def colored_advice(advice: Advice, width: int = WIDTH) -> str:
    """Return an advice for a terminal of some width."""
    written = io.StringIO()
    console = terminal.console(written, width=width, force_terminal=True)
    first, *head = advice_head(advice)
    console.print(first, style="bold")
    for line in head:
        console.print(line, style="bold yellow" if line.startswith("Your input") else "")
    if advice.rows:
        console.print()
        console.print(rich_table(advice.rows, first_cells(advice)))
    for line in advice_end(advice):
        style = "bold" if line.startswith(_LEADS) else ""
        if line.startswith(CODE):
            style = _DIFF_STYLES.get(line.removeprefix(CODE)[:1], "") if advice.patch else ""
        # Lines of code stay whole, so that they can be copied.
        console.print(line, style=style, soft_wrap=line.startswith(CODE))
    return written.getvalue().rstrip("\n")


def first_cells(advice: Advice) -> dict[str, str]:
    """Return the cells of the training as it is, by the titles of the table."""
    base = advice.baseline
    learned = base.learned
    cells = {"change": "as it is", "CPU": "1.00×", "verdict": ""}
    if base.samples_per_s is not None:
        cells["measured"] = units.rate(base.samples_per_s)
    if base.peak_bytes is not None:
        cells["memory"] = units.size(base.peak_bytes)
    if learned is not None:
        cells["loss"] = f"{loss_figure(learned.before)} → {loss_figure(learned.after)}"
    if all(row.cpu is None for row in advice.rows):
        cells["CPU"] = NO_VALUE
    return cells


def advice_head(advice: Advice) -> Iterator[str]:
    """Yield what stands above the table: what was tuned, and as it is."""
    base = advice.baseline
    yield f"quickfit tune: {advice.target}"
    yield advice.device
    known = [
        f"batch {base.batch}" if base.batch is not None else "",
        f"{units.seconds(base.step_s)} a step" if base.step_s is not None else "",
        f"{units.count(base.steps_left)} steps in all" if base.steps_left is not None else "",
        f"{units.count(base.parameters)} parameters" if base.parameters is not None else "",
    ]
    if any(known):
        yield f"as it is: {', '.join(part for part in known if part)}"
    yield from advice.input_note.splitlines()


def advice_end(advice: Advice) -> Iterator[str]:
    """Yield what stands below the table; lines of code and commands begin with `CODE`."""
    if any(row.fix_class for row in advice.rows):
        yield CLASSES
    if advice.baseline.learned is not None and advice.loss_note:
        yield advice.loss_note.format(units.count(advice.baseline.learned.samples))
    yield from row_reasons(advice.rows)
    yield ""
    if advice.is_interrupted:
        yield "Interrupted: this is what was known by then."
    yield from _advised_lines(advice)
    yield from _undecided_lines(advice)
    yield from _other_lines(advice)
    yield from advice.notes
    yield f"The trials took {units.seconds(advice.took_s)}."


def _advised_lines(advice: Advice) -> Iterator[str]:
    chosen = advice.chosen
    if chosen is None or chosen.gain is None:
        if not any(row.gain for row in advice.rows):
            yield "Nothing was measured beside your training: the reasons are above."
        elif not advice.undecided:
            yield (
                "Nothing to change: no change was faster for sure (a lower bound of"
                f" {MIN_GAIN:g}×)."
            )
        return
    yield f"Advised: {chosen.name}: {gain_text(chosen.gain)} as many samples per second"
    whole, base = advice.whole_gain, advice.baseline
    if whole is not None and base.start_s is not None and base.steps_left is not None:
        ends = advice.whole_range
        between = f" ({ends[0]:.2f}–{ends[1]:.2f})" if ends else ""
        yield (
            f"Your whole training of {units.count(base.steps_left)} steps gets about {whole:.2f}×"
            f"{between} as fast: its start of {units.seconds(base.start_s)} stays."
        )
    if not advice.patch:
        yield "Put this into your script:"
    for line in advice.patch.splitlines() or advice.lines:
        yield f"{CODE}{line}"
    yield from advice.remarks


def _undecided_lines(advice: Advice) -> Iterator[str]:
    """Yield what may still be a gain, and what would tell."""
    if not advice.undecided:
        return
    named = ", ".join(f"{row.name} {gain_text(row.gain)}" for row in advice.undecided)
    text = f"Not decided, and promising: {named}."
    if advice.is_interrupted or not advice.deciding_words:
        yield text
    else:
        yield f"{text} More time would decide:"
        yield f"{CODE}{advice.deciding_words}"


def _other_lines(advice: Advice) -> Iterator[str]:
    """Yield the lines of what is faster and learns less: its user decides."""
    rows = [row for row in advice.rows if row.verdict is ChangeVerdict.LEARNS_LESS]
    if not rows:
        return
    yield "Faster, but it learned less from the same samples; yours to decide:"
    for row in rows:
        for line in script_lines(Setting(**row.setting)):
            yield f"{CODE}{line}"


def _wrap_paragraphs(paragraphs: Iterable[str]) -> Iterator[str]:
    for one in paragraphs:
        if not one or one.startswith(CODE):
            yield one
        else:
            yield from textwrap.wrap(one, WIDTH, break_long_words=False, break_on_hyphens=False)
