"""Writes what became of the candidates: a table, the diffs, advice, and the next command."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from quickfit import terminal, units
from quickfit.causes import catalogue
from quickfit.code.file_changes import patch
from quickfit.diagnosis.candidates import Unrecognised
from quickfit.fixing.sources import Sources
from quickfit.fixing.story import Story
from quickfit.lab.verdict import Outcome
from quickfit.report.text import prose
from quickfit.tuning.advice.change_table import (
    ChangeKind,
    ChangeRow,
    ChangeVerdict,
    rich_table,
    row_reasons,
)

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 100


def write_story(story: Story, stream: TextIO, *, color: bool) -> None:
    """Write all that is known."""
    written = io.StringIO()
    console = terminal.console(written, width=WIDTH, force_terminal=color, no_color=not color)
    console.print(f"\nquickfit fix: {story.target.name}", style="bold")
    console.print(story.diagnosis.headline)
    if story.outcomes:
        console.print()
        rows = [outcome_row(outcome) for outcome in story.outcomes]
        rows += [outcome_row(story.together, is_together=True)] if story.together else []
        console.print(rich_table(rows))
        for text in row_reasons(rows):
            console.print(text)
    for outcome in story.outcomes:
        if outcome.is_accepted or outcome.cause in catalogue():
            _write_change(outcome, story, console)
    _write_settings(story, console)
    for one in story.without:
        _write_advice(one, story, console)
    _write_end(story, console)
    terminal.write(stream, written.getvalue(), painted=color)


def outcome_row(outcome: Outcome, *, is_together: bool = False) -> ChangeRow:
    """Return the row of a fix, or of a setting beside fixes, in the table that `tune` has too."""
    return ChangeRow(
        "all together" if is_together else outcome.cause,
        ChangeKind.TOGETHER if is_together else ChangeKind.CAUSE,
        ChangeVerdict.ACCEPTED if outcome.is_accepted else ChangeVerdict.NOT_ACCEPTED,
        gain=outcome.measured,
        reason="" if outcome.is_accepted else prose(outcome.why),
        fix_class=outcome.kind.value,
        place=outcome.place,
        predicted=outcome.predicted,
        results=outcome.results,
        unit=outcome.unit,
    )


def _write_change(outcome: Outcome, story: Story, console: Console) -> None:
    said = "accepted" if outcome.is_accepted else "not accepted"
    console.print(f"\n{outcome.cause}: {outcome.change.title} ({said})", style="bold")
    if outcome.change.note:
        console.print(outcome.change.note)
    for line in diff_of([outcome], story.sources, story.cwd).splitlines():
        style = {"+": "green", "-": "red"}.get(line[:1], "dim" if line[:1] in "@d" else "")
        console.print(line, style=style, soft_wrap=True)


def _write_settings(story: Story, console: Console) -> None:
    """Write a line for every setting that was not proven; its diff is not needed."""
    left = [o for o in story.outcomes if not o.is_accepted and o.cause not in catalogue()]
    if left:
        console.print("\nSettings that are not proven:", style="bold")
    for outcome in left:
        console.print(f"{outcome.cause}: {outcome.change.title}")


def diff_of(outcomes: Sequence[Outcome], sources: Sources, base: Path) -> str:
    """Return changes as a patch to be read."""
    return patch_of(outcomes, sources, base).decode(errors="replace")


def patch_of(outcomes: Sequence[Outcome], sources: Sources, base: Path) -> bytes:
    """Return changes as a patch for `git apply`, to be run in a folder."""
    edits = [edit for outcome in outcomes for edit in outcome.change.edits]
    paths = dict.fromkeys(edit.file for edit in edits)
    files = {p: (sources.files[p], sources.files[p].edited(set(edits))) for p in paths}
    return patch(files, base=base)


def _write_advice(one: Unrecognised, story: Story, console: Console) -> None:
    finding = one.finding
    where = f" at {finding.where.short}" if finding.where else ""
    console.print(f"\n{finding.cause}{where}: no edit was made", style="bold")
    console.print(why_no_edit(one, story))
    fix = finding.fix
    if fix is None:
        return
    console.print(fix.title)
    if not finding.is_of_machine:  # what is done about a machine is no code
        for line in (fix.after or fix.example).splitlines():
            console.print(f"    {line}", soft_wrap=True)


def why_no_edit(one: Unrecognised, story: Story) -> str:
    """Say why a finding has no edit."""
    finding = one.finding
    if finding.is_of_machine:
        return "this is not the script's doing; nothing in it can be changed"
    if finding.where is not None and finding.where.file in story.sources.changed:
        return "the file has changed since the run"
    return one.why or "the code was not recognised with certainty; this is what to do"


def _write_end(story: Story, console: Console) -> None:
    took_s = sum(o.took_s for o in (*story.outcomes, *([story.together] if story.together else ())))
    if story.confinement:
        console.print(f"\ntrials: {story.confinement}", style="dim")
    if took_s:
        console.print(f"The proof took {units.seconds(took_s)}. ", style="dim")
    if story.is_interrupted:
        console.print("Interrupted: this is what was known by then.", style="bold")
    if not story.outcomes and not story.without:
        console.print("\nNothing was found that a fix would help.")
