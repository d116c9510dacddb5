"""Writes what came of the settings of a script: a table, the reasons, the change."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, TextIO

from quickfit import units
from quickfit.fixing.to_terminal import WIDTH, diff_of
from quickfit.fixing.tuned_rows import row_of
from quickfit.fixing.tuned_trials import Training, best_of_each_kind
from quickfit.report.text import encodable, prose
from quickfit.tuning.advice.rows import Row
from quickfit.tuning.advice.table import NOTHING, gain_text, loss_figure, reasons, rich_table

if TYPE_CHECKING:
    from rich.console import Console

    from quickfit.fixing.tuned import Tuned

# From here on the input is the limit, and faster steps gain little.
INPUT_LIMIT_SHARE = 0.3
LOSS = "loss: of the first batch → the mean over up to {} samples, the same ones for every row"


def rows_of(tuned: Tuned) -> list[Row]:
    """Return the rows of all settings, the best ones together last."""
    tried = [*tuned.tried, *([tuned.together] if tuned.together is not None else [])]
    return [row_of(one, tuned.training) for one in tried]


def as_json(tuned: Tuned) -> dict[str, Any]:  # plain values of any type
    """Return what was found as plain values."""
    story, training, advised = tuned.story, tuned.training, tuned.advised
    return {
        "target": story.target.name,
        "device": story.diagnosis.device.summary,
        "baseline": {
            "batch": training.batch,
            "step_s": training.batch_s,
            "samples_per_s": _samples_per_s(training),
            "steps_left": training.steps_left,
        },
        "rows": [row.as_json() for row in rows_of(tuned)],
        "advised": " + ".join(one.offer.name for one in advised) or None,
        "setting": {name: value for one in advised for name, value in one.offer.setting.items()},
        "patch": diff_of(story.outcomes, story.sources, story.cwd),
        "is_input_bound": _is_input_bound(tuned),
        "is_interrupted": story.is_interrupted,
    }


def _samples_per_s(training: Training) -> float | None:
    return training.batch / training.batch_s if training.batch and training.batch_s else None


def _is_input_bound(tuned: Tuned) -> bool:
    share = tuned.watched.wait_share
    return share is not None and share >= INPUT_LIMIT_SHARE


def write_tuned(tuned: Tuned, stream: TextIO, *, color: bool) -> None:
    """Write all that is known."""
    from rich.console import Console

    written = io.StringIO()
    console = Console(
        file=written,
        width=WIDTH,
        force_terminal=color,
        no_color=not color,
        highlight=False,
        markup=False,
    )
    _write_head(tuned, console)
    rows = rows_of(tuned)
    if any(row.gain is not None for row in rows):
        console.print(rich_table(rows, _as_it_is(tuned, rows)))
    _write_reasons(rows, console)
    _write_advice(tuned, console)
    stream.write(encodable(written.getvalue(), getattr(stream, "encoding", None)))
    stream.flush()


def _write_head(tuned: Tuned, console: Console) -> None:
    story, training = tuned.story, tuned.training
    console.print(f"\nquickfit tune: {story.target.name}", style="bold")
    console.print(prose(story.diagnosis.device.summary))
    if training.batch_s is not None:
        size = f"{training.batch} examples" if training.batch else "a batch"
        left = training.steps_left
        of = f", {units.count(left)} steps in all" if left is not None else ""
        console.print(f"A step of {size} takes {units.seconds(training.batch_s)} as it is{of}.")
    if _is_input_bound(tuned):
        share = units.share(tuned.watched.wait_share or 0.0)
        console.print(
            f"Your input is the limit: {share} of a step waits for data, and a faster step gains"
            f" nothing there.\nFirst: quickfit fix {story.target.name}",
            style="bold",
        )


def _as_it_is(tuned: Tuned, rows: list[Row]) -> tuple[str, ...]:
    """Return the line of the training without any change."""
    losses = [row.loss for row in rows if row.loss is not None]
    loss = max(losses, key=lambda one: one.samples, default=None)
    text = NOTHING
    if loss is not None:
        text = f"{loss_figure(loss.before)} → {loss_figure(loss.unchanged)}"
    memory = [
        row.peak_bytes - row.more_bytes
        for row in rows
        if row.peak_bytes is not None and row.more_bytes is not None
    ]
    shown = units.size(max(memory)) if memory else NOTHING
    rate = _samples_per_s(tuned.training)
    said = units.rate(rate) if rate is not None else NOTHING
    return ("as it is", said, "1.00×", shown, NOTHING, text, "")


def _write_reasons(rows: list[Row], console: Console) -> None:
    for text in reasons(rows):
        console.print(prose(text))
    samples = [row.loss.samples for row in rows if row.loss is not None]
    if samples:
        console.print(LOSS.format(units.count(max(samples))), style="dim")


def _nothing(tuned: Tuned) -> str:
    if any(one.mean for one in tuned.tried):
        return "Nothing to change: no setting was faster for sure (a lower bound of 1.05×)."
    if any(one.outcome is not None for one in tuned.tried):
        return "Nothing was measured, so that nothing can be advised; the reasons are above."
    return "Nothing can be tried on this script by an edit that is certain; the reasons are above."


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
    for line in diff_of(story.outcomes, story.sources, story.cwd).splitlines():
        style = {"+": "green", "-": "red"}.get(line[:1], "dim" if line[:1] in "@d" else "")
        console.print(line, style=style, soft_wrap=True)
