"""What became of candidates and settings as Markdown: short, for pull requests and issues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quickfit import terminal
from quickfit.fixing.story import Story
from quickfit.fixing.to_terminal import diff_of, outcome_row, why_no_edit
from quickfit.lab.verdict import Outcome
from quickfit.report.markdown import code, fenced, prose, table
from quickfit.tuning.advice.change_table import row_reasons, table_lines
from quickfit.tuning.advice.report import CODE, advice_end, advice_head, first_cells
from quickfit.tuning.advice.result import Advice


def story_markdown(story: Story) -> str:
    """Return what became of the fixes of a script, with a line break at its end."""
    return _text(_story_lines(story))


def advice_markdown(advice: Advice) -> str:
    """Return what became of the settings of a training, with a line break at its end."""
    return _text(_advice_lines(advice))


def _text(lines: Iterable[str]) -> str:
    # No line of the user's code can steer a terminal, nor end a fence.
    return "\n".join(terminal.escape(line, keep="\t") for line in lines).rstrip("\n") + "\n"


def _story_lines(story: Story) -> Iterator[str]:
    yield f"### quickfit fix: {code(story.target.name)}"
    yield from ("", f"**{prose(story.diagnosis.headline)}**")
    rows = [outcome_row(outcome) for outcome in story.outcomes]
    rows += [outcome_row(story.together, is_together=True)] if story.together else []
    if rows:
        yield from ("", *table(table_lines(rows)))
    reasons = row_reasons(rows)
    if reasons:
        yield from ("", *(f"- {prose(reason)}" for reason in reasons))
    for outcome in story.outcomes:
        if outcome.is_accepted:
            yield from _change_lines(outcome, story)
    for one in story.without:
        fix, place = one.finding.fix, one.finding.where
        where = f" at {code(place.short)}" if place else ""
        yield from ("", f"{code(one.finding.cause)}{where}: no edit was made")
        yield from ("", prose(why_no_edit(one, story)))
        if fix is not None:
            yield from ("", prose(fix.title))
            example = (fix.after or fix.example).splitlines()
            if example and not one.finding.is_of_machine:
                yield from ("", *fenced(example, "python"))
    if story.is_interrupted:
        yield from ("", "Interrupted: this is what was known by then.")
    if not story.outcomes and not story.without:
        yield from ("", "Nothing was found that a fix would help.")


def _change_lines(outcome: Outcome, story: Story) -> Iterator[str]:
    yield from ("", f"{code(outcome.cause)}: {prose(outcome.change.title)}")
    if outcome.change.note:
        yield from ("", prose(outcome.change.note))
    yield ""
    yield from fenced(diff_of([outcome], story.sources, story.cwd).splitlines(), "diff")


def _advice_lines(advice: Advice) -> Iterator[str]:
    title, *head = advice_head(advice)
    yield f"### {prose(title)}"
    for line in head:
        yield from ("", prose(line))
    if advice.rows:
        yield from ("", *table(table_lines(advice.rows, first_cells(advice))))
    block: list[str] = []
    for line in (*advice_end(advice), ""):
        if line.startswith(CODE):
            block.append(line.removeprefix(CODE))
            continue
        if block:
            yield from ("", *fenced(block, "diff" if advice.patch else "python"))
            block = []
        if line:
            yield from ("", prose(line))
