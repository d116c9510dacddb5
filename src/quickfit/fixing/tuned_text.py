"""Writes what came of the settings of a script: a table, the reasons, the change."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from quickfit import terminal, units
from quickfit.fixing.commands import words_of
from quickfit.fixing.to_terminal import WIDTH, diff_of
from quickfit.fixing.tuned_input import input_text, is_limit
from quickfit.fixing.tuned_json import class_text, deciding_budget_s, peak_bytes, samples_per_s
from quickfit.fixing.tuned_rows import row_of
from quickfit.fixing.tuned_trials import best_of_each_kind
from quickfit.report.text import prose
from quickfit.tuning.advice.report import NO_VALUE, gain_text, loss_figure, rich_table, row_reasons
from quickfit.tuning.advice.result import ChangeKind, ChangeRow, ChangeVerdict

if TYPE_CHECKING:
    from rich.console import Console

    from quickfit.fixing.tuned import Tuned

CLASSES = (
    "class: below the name. --apply writes same-results; the others need --accept and their class."
)
LOSS = "loss: of the first batch → the mean over up to {} samples, the same ones for every row"


def rows_of(tuned: Tuned) -> list[ChangeRow]:
    """Return the rows of all settings, the best ones together last."""
    return [row_of(one, tuned.training) for one in tuned.all_tried]


def _with_classes(tuned: Tuned, rows: list[ChangeRow]) -> list[ChangeRow]:
    """Return the rows with their classes below their names."""
    both = zip(rows, map(class_text, tuned.all_tried), strict=True)
    return [replace(row, name=f"{row.name}\n{said}") if said else row for row, said in both]


def write_tuned(tuned: Tuned, stream: TextIO, *, color: bool) -> None:
    """Write all that is known."""
    written = io.StringIO()
    console = terminal.console(written, width=WIDTH, force_terminal=color, no_color=not color)
    _write_head(tuned, console)
    rows = rows_of(tuned)
    if any(row.gain is not None for row in rows):
        console.print(rich_table(_with_classes(tuned, rows), _as_it_is(tuned, rows)))
        console.print(CLASSES, style="dim")
    _write_reasons(rows, console)
    _write_advice(tuned, console)
    if tuned.story.confinement:
        console.print(f"trials: {tuned.story.confinement}", style="dim")
    terminal.write(stream, written.getvalue(), painted=color)


def _write_head(tuned: Tuned, console: Console) -> None:
    story, training = tuned.story, tuned.training
    console.print(f"\nquickfit tune: {story.target.name}", style="bold")
    console.print(prose(story.diagnosis.device.summary))
    if training.batch_s is not None:
        size = f"{training.batch} examples" if training.batch else "a batch"
        left = training.steps_left
        of = f", {units.count(left)} steps in all" if left is not None else ""
        console.print(f"A step of {size} takes {units.seconds(training.batch_s)} as it is{of}.")
    share = tuned.watched.wait_share
    for line in input_text(share, story.target).splitlines():
        console.print(prose(line), style="bold" if is_limit(share) else "")


def _as_it_is(tuned: Tuned, rows: list[ChangeRow]) -> tuple[str, ...]:
    """Return the line of the training without any change."""
    losses = [row.loss for row in rows if row.loss is not None]
    loss = max(losses, key=lambda one: one.samples, default=None)
    text = NO_VALUE
    if loss is not None:
        text = f"{loss_figure(loss.before)} → {loss_figure(loss.unchanged)}"
    peak = peak_bytes(rows)
    shown = units.size(peak) if peak is not None else NO_VALUE
    rate = samples_per_s(tuned.training)
    said = units.rate(rate) if rate is not None else NO_VALUE
    return ("as it is", said, "1.00×", shown, NO_VALUE, text, "")


def _write_reasons(rows: list[ChangeRow], console: Console) -> None:
    for text in row_reasons(rows):
        console.print(prose(text))
    samples = [row.loss.samples for row in rows if row.loss is not None]
    if samples:
        console.print(LOSS.format(units.count(max(samples))), style="dim")


def _nothing(tuned: Tuned) -> str:
    if tuned.story.is_interrupted and not any(one.mean for one in tuned.tried):
        return "Nothing was measured before that, so that nothing can be advised."
    if _undecided(tuned):
        return "Nothing can be advised yet."
    if any(one.mean for one in tuned.tried):
        return "Nothing to change: no setting was faster for sure (a lower bound of 1.05×)."
    if any(one.outcome is not None for one in tuned.tried):
        return "Nothing was measured, so that nothing can be advised; the reasons are above."
    return "Nothing can be tried on this script by an edit that is certain; the reasons are above."


def _write_undecided(tuned: Tuned, console: Console) -> None:
    text = _undecided(tuned)
    if text:
        console.print(text, soft_wrap=True)


def _undecided(tuned: Tuned) -> str:
    """Return which settings were measured too little, and the command that decides."""
    enough_s = deciding_budget_s(tuned)
    if enough_s is None:
        return ""
    rows = [row for row in rows_of(tuned) if row.verdict is ChangeVerdict.NOT_DECIDED]
    names = ", ".join(f"{row.name} {gain_text(row.gain)}" for row in rows)
    kinds = "".join(f" --only {kind}" for kind in dict.fromkeys(_kinds(rows)))
    words = f"--budget {round(enough_s)}s{kinds} {words_of(tuned.story.target)}"
    return f"Not decided: {names}. More time decides:\n    quickfit tune {words}"


def _kinds(rows: list[ChangeRow]) -> list[str]:
    return [row.kind.value for row in rows if row.kind is not ChangeKind.TOGETHER]


def _left_out(tuned: Tuned) -> list[str]:
    """Return a sentence about what is worth having alone and is not advised."""
    left = [one.offer.name for one in best_of_each_kind(tuned.tried) if one not in tuned.advised]
    if not left:
        return []
    together = tuned.together
    if together is not None and together.mean:
        return [f"{' and '.join(left)}: faster alone, but no faster together with that."]
    return [f"{' and '.join(left)}: faster too; write this first, then tune again."]


def _write_advice(tuned: Tuned, console: Console) -> None:
    story, advised = tuned.story, tuned.advised
    if story.is_interrupted:
        console.print("\nInterrupted: this is what was known by then.", style="bold")
    if not advised:
        console.print(f"\n{_nothing(tuned)}", style="bold")
        _write_undecided(tuned, console)
        return
    names = " + ".join(one.offer.name for one in advised)
    proof = tuned.together if len(advised) > 1 and tuned.together is not None else advised[0]
    measured = proof.outcome.measured if proof.outcome is not None else None
    console.print(f"\nAdvised: {names}: {gain_text(measured)} as fast", style="bold")
    for one in advised:
        if one.outcome is not None and one.outcome.change.note:
            console.print(f"{one.offer.name}: {one.outcome.change.note}")
    for text in _left_out(tuned):
        console.print(text)
    _write_undecided(tuned, console)
    for line in diff_of(story.outcomes, story.sources, story.cwd).splitlines():
        style = {"+": "green", "-": "red"}.get(line[:1], "dim" if line[:1] in "@d" else "")
        console.print(line, style=style, soft_wrap=True)
