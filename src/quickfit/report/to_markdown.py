"""A report as Markdown: short, for pull requests, issues and language models.

Text of the recording cannot become markup: `report.markdown` escapes it.
"""

from __future__ import annotations

from collections.abc import Iterator

from quickfit.findings import Diagnosis
from quickfit.report import text
from quickfit.report.markdown import code, fenced, prose
from quickfit.report.view import FindingView, FixView, ReportView, view

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
        detail = f" ({finding.cost_detail})" if finding.cost_detail else ""
        yield f"- {finding.cost_label}: **{finding.cost}**{detail}"
    if finding.fix is not None:
        yield ""
        yield from _fix(finding.fix)


def _fix(fix: FixView) -> Iterator[str]:
    yield f"{prose(fix.title)}: {fix.effect}"
    for hunk in fix.hunks:
        lines = [*(f"- {line}" for line in hunk.before), *(f"+ {line}" for line in hunk.after)]
        yield from ("", *fenced(([f"@@ {hunk.place} @@"] if hunk.place else []) + lines, "diff"))
    if fix.example:
        yield from ("", *fenced(fix.example, "python"))
    if fix.note:
        yield from ("", prose(fix.note))
