"""A report as Markdown: short, for pull requests, issues and language models.

Text of the recording cannot become markup: what Markdown or HTML would read is escaped, code stands
in fences longer than any in it, and nobody is mentioned by an `@`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from quickfit.findings import Diagnosis
from quickfit.report import text
from quickfit.report.view import FindingView, FixView, ReportView, view

_CODE = re.compile(r"`([^`]+)`")
_MARKUP = re.compile(r"[\\`*_\[\]#|~]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
# The account in a comment: its large parts, without their parts.
MAX_ROWS = 8


def to_markdown(diagnosis: Diagnosis) -> str:
    """Return the report of a diagnosis as Markdown, with a line break at its end."""
    return "\n".join(_lines(view(diagnosis), diagnosis)).rstrip("\n") + "\n"


def _lines(report: ReportView, diagnosis: Diagnosis) -> Iterator[str]:
    yield f"### quickfit: {code(text.path(diagnosis.script) or 'a run')}"
    yield ""
    yield f"**{prose(report.headline)}**"
    yield ""
    yield f"{prose(report.device)}. {prose(report.total)}".rstrip()
    if report.account:
        yield from (
            "",
            "| where the time went | time | of the run | line |",
            "| --- | --: | --: | --- |",
        )
        for row in [row for row in report.account if len(row.indent) <= 2][:MAX_ROWS]:
            label = "&nbsp;" * len(row.indent) + prose(row.label)
            place = code(row.place) if row.place else ""
            yield f"| {label} | {row.time} | {row.share} | {place} |"
    for finding in report.findings:
        yield ""
        yield from _finding(finding)
    for title, texts in (
        ("Also seen", [f"`{m.cause}`, {m.cost or m.gain}: {m.summary}" for m in report.mentions]),
        ("Worth trying", report.advice),
        ("Notes", (*report.notes, report.outcome, report.early)),
    ):
        told = [each for each in texts if each]
        if told:
            yield from ("", f"{title}:", "", *(f"- {prose(each)}" for each in told))
    yield ""
    if report.fix_command:
        yield f"To make the fix and prove it: {code(report.fix_command)}"


def _finding(finding: FindingView) -> Iterator[str]:
    yield f"#### {finding.number}. {code(finding.cause)}: {prose(finding.gain)}"
    yield ""
    place = f" ({code(finding.place)})" if finding.place else ""
    yield f"{prose(finding.summary)}{place}"
    yield ""
    for fact in finding.evidence:
        detail = f" ({prose(fact.detail)})" if fact.detail else ""
        yield f"- {prose(fact.what)}: **{fact.value}**{detail}"
    if finding.cost:
        yield f"- {finding.cost_label}: **{finding.cost}**"
    if finding.fix is not None:
        yield ""
        yield from _fix(finding.fix)


def _fix(fix: FixView) -> Iterator[str]:
    yield f"{prose(fix.title)}: {fix.effect}"
    for hunk in fix.hunks:
        lines = [*(f"- {line}" for line in hunk.before), *(f"+ {line}" for line in hunk.after)]
        yield from ("", *_fenced(([f"@@ {hunk.place} @@"] if hunk.place else []) + lines, "diff"))
    if fix.example:
        yield from ("", *_fenced(fix.example, "python"))
    if fix.note:
        yield from ("", prose(fix.note))


def _fenced(lines: Sequence[str], language: str) -> list[str]:
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(longest + 1, 3)
    return [f"{fence}{language}", *lines, fence]


def prose(said: str) -> str:
    """Return a sentence whose `code` marks stay, and in which nothing else is markup."""
    parts = _CODE.split(said)
    return "".join(code(part) if n % 2 else _plain(part) for n, part in enumerate(parts))


def _plain(said: str) -> str:
    escaped = _MARKUP.sub(lambda found: f"\\{found[0]}", said)
    # A bare address would become a link.
    return "".join(_ENTITIES.get(char, char) for char in escaped).replace("://", ":&#47;/")


def code(said: str) -> str:
    """Return text as code that nothing in it can end."""
    # In a table a bar ends the cell, also in code.
    return f"`{said.replace('`', chr(39)).replace('|', chr(92) + '|')}`"
