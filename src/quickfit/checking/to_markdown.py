"""A check as Markdown: a list with the changes, for pull requests, issues and language models."""

from __future__ import annotations

from collections.abc import Iterator

from quickfit import terminal
from quickfit.checking.records import Outcome, Told, hidden_hints, summary
from quickfit.checking.to_text import place
from quickfit.report.markdown import code, fenced, prose
from quickfit.report.text import one_line

# A comment of GitHub takes 65,536 characters.
MAX_FINDINGS = 50


def to_markdown(outcome: Outcome) -> str:
    """Return all findings, with a line break at the end."""
    lines = (terminal.escape(line, keep="\t") for line in _lines(outcome))
    return "\n".join(lines).rstrip("\n") + "\n"


def _lines(outcome: Outcome) -> Iterator[str]:
    yield "### quickfit check"
    yield from ("", f"**{prose(summary(outcome))}**")
    told = outcome.told
    for one in told[:MAX_FINDINGS]:
        yield from _finding(one)
    if len(told) > MAX_FINDINGS:
        yield from ("", f"{len(told) - MAX_FINDINGS} more are not shown.")
    for trouble in outcome.troubles:
        yield from ("", f"{code(place(trouble.where))}, error: {prose(trouble.message)}")
    if hidden_hints(outcome):
        yield from ("", prose(hidden_hints(outcome)))


def _finding(told: Told) -> Iterator[str]:
    spotted = told.spotted
    effect = f"{spotted.effect.value}{' sometimes' if spotted.is_hint else ''}"
    yield from ("", f"{code(place(spotted.where))}, **{effect}**, {code(spotted.cause)}")
    yield from ("", prose(spotted.summary))
    for where, words in spotted.related:
        yield from ("", f"{code(place(where))}: {prose(words)}")
    change = spotted.change
    if change is None:
        if told.line.strip():
            yield from ("", *fenced([one_line(told.line.strip())], "python"))
        return
    yield from ("", f"{prose(change.title)} ({change.kind.value})")
    lines = [
        line
        for rewrite in told.rewrites
        for line in (
            f"@@ {place(rewrite.where)} @@",
            *(f"-{before}" for before in rewrite.before),
            *(f"+{after}" for after in rewrite.after),
        )
    ]
    if lines:
        yield from ("", *fenced(lines, "diff"))
    if change.note:
        yield from ("", prose(change.note))
