"""Shows an advice: as plain text, or with colour on a terminal."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator

from quickfit import terminal, units
from quickfit.tuning.advice.hints import budget_words
from quickfit.tuning.advice.lines import lines_of
from quickfit.tuning.advice.result import Advice
from quickfit.tuning.advice.rows import Verdict
from quickfit.tuning.advice.table import (
    NOTHING,
    gain_text,
    loss_figure,
    plain,
    reasons,
    rich_table,
)
from quickfit.tuning.trials.settings import Setting

WIDTH = 100
_CODE = "    "
_LEADS = ("Put this", "Nothing", "Not decided", "Interrupted")


def text(advice: Advice) -> str:
    """Return an advice as plain text."""
    table = ["", plain(advice.rows, first_cells(advice))]
    return "\n".join([*_wrapped(_head(advice)), *table, *_wrapped(_end(advice))])


def colored(advice: Advice, width: int = WIDTH) -> str:
    """Return an advice for a terminal of some width."""
    written = io.StringIO()
    console = terminal.console(written, width=width, force_terminal=True)
    first, *head = _head(advice)
    console.print(first, style="bold")
    for line in head:
        console.print(line, style="bold yellow" if line.startswith("Your input") else "")
    console.print()
    console.print(rich_table(advice.rows, first_cells(advice)))
    for line in _end(advice):
        style = "bold" if line.startswith(_LEADS) else ""
        # Lines of code stay whole, so that they can be copied.
        console.print(line, style=style, soft_wrap=line.startswith(_CODE))
    return written.getvalue().rstrip("\n")


def first_cells(advice: Advice) -> tuple[str, ...]:
    """Return the cells of the training as it is."""
    base = advice.baseline
    learned = base.learned
    loss = f"{loss_figure(learned.before)} → {loss_figure(learned.after)}" if learned else NOTHING
    rate = NOTHING if base.samples_per_s is None else units.rate(base.samples_per_s)
    return ("as it is", rate, "1.00×", units.size(base.peak_bytes), NOTHING, loss, "")


def _head(advice: Advice) -> Iterator[str]:
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


def _end(advice: Advice) -> Iterator[str]:
    if advice.baseline.learned is not None:
        samples = units.count(advice.baseline.learned.samples)
        yield f"loss: before and after {samples} samples, on the same samples for every change"
    yield from reasons(advice.rows)
    yield ""
    yield from _advised(advice)
    yield from _open(advice)
    yield from _other_lines(advice)
    yield from advice.notes
    if advice.is_interrupted:
        yield "Interrupted: this is what was known by then."
    yield f"The trials took {units.seconds(advice.took_s)}."


def _advised(advice: Advice) -> Iterator[str]:
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


def _open(advice: Advice) -> Iterator[str]:
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
    rows = [row for row in advice.rows if row.verdict is Verdict.LEARNS_LESS]
    if not rows:
        return
    yield "Faster, but it learned less from the same samples; yours to decide:"
    for row in rows:
        for line in lines_of(Setting(**row.setting)):
            yield f"{_CODE}{line}"


def _wrapped(paragraphs: Iterable[str]) -> Iterator[str]:
    for one in paragraphs:
        if not one or one.startswith(_CODE):
            yield one
        else:
            yield from textwrap.wrap(one, WIDTH, break_long_words=False, break_on_hyphens=False)
