"""Writes a report to a terminal, or as plain text to a file, a pipe or a log.

Order: the device, the verdict, where the time goes, then each finding with its gain, place,
evidence and change, then what was and was not checked, and the next command.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from typing import TextIO

from quickfit import terminal
from quickfit.findings import Diagnosis
from quickfit.report._layout import INDENT, Line, Span, cells, columns, painted, paragraph
from quickfit.report.view import BreakdownView, EvidenceView, FindingView, FixView, ReportView, view
from quickfit.terminal import wants_color

# Wider than this the eye loses the line between the two columns.
MAX_WIDTH = 100
MIN_WIDTH = 40
BLANK: Line = ()
_DEVICE_STYLES = {"unused": "bold red", "unknown": "yellow"}
_SEVERITY_STYLES = {"severe": "bold red", "report": "bold yellow"}
_PAD = Span(INDENT)


def write_report(
    diagnosis: Diagnosis,
    stream: TextIO,
    *,
    color: bool | None = None,
    width: int | None = None,
    verbose: bool = False,
) -> None:
    """Write the report of `diagnosis` to `stream`.

    Args:
        diagnosis: what to tell.
        stream: where to; its encoding is respected.
        color: whether to use colour; by default only on a terminal that wants it.
        width: cells per line; by default the terminal's, at most 100, and 100 elsewhere.
        verbose: list what was checked and what could not be.
    """
    colored = wants_color(stream) if color is None else color
    lines = layout(view(diagnosis), width or _width_of(stream), verbose=verbose)
    shown = "".join(f"{painted(line, colored=colored)}\n" for line in lines)
    terminal.write(stream, shown, painted=colored)


def _width_of(stream: TextIO) -> int:
    if not stream.isatty():
        return MAX_WIDTH
    return max(MIN_WIDTH, min(MAX_WIDTH, shutil.get_terminal_size((MAX_WIDTH, 24)).columns))


def layout(report: ReportView, width: int, *, verbose: bool = False) -> Iterator[Line]:
    """Yield the lines of a report."""
    yield BLANK
    yield from _device(report, width)
    yield from paragraph(report.headline, width, lead=Span("verdict  ", "dim"), style="bold")
    if report.account:
        yield BLANK
        yield from _account(report, width)
    if report.memory:
        yield from paragraph(report.memory, width, lead=Span("memory   ", "bold"))
    if report.breakdown:
        yield BLANK
        yield from _breakdown(report.breakdown, width)
    elif report.first_step:
        yield BLANK
    if report.first_step:
        yield from paragraph(report.first_step, width, lead=Span("first step     ", "bold"))
    if report.turbo:
        yield BLANK
        yield from _turbo(report, width)
    for finding in report.findings:
        yield BLANK
        yield from _finding(finding, width)
    if report.mentions:
        yield BLANK
        yield from _mentions(report.mentions, width)
    if report.advice or report.notes:
        yield BLANK
        yield from _remarks(report, width)
    yield BLANK
    yield from _rest(report, width, verbose=verbose)


def _device(report: ReportView, width: int) -> Iterator[Line]:
    style = _DEVICE_STYLES.get(report.device_status, "")
    lead = Span("device   ", "dim")
    yield from paragraph(report.device, width, lead=lead, style=style)
    under = Span(" " * cells(lead.text))
    # Facts prove a device problem; on a healthy machine they are noise.
    if report.device_status in _DEVICE_STYLES:
        for fact in report.device_facts:
            yield from paragraph(fact, width, lead=under, style="dim")
    if report.device_advice:
        yield from paragraph(report.device_advice, width, lead=under)


def _account(report: ReportView, width: int) -> Iterator[Line]:
    yield from paragraph(report.total, width, lead=Span("time     ", "bold"))
    labels = [f"{row.indent}{row.label}" for row in report.account]
    label_width = max(map(cells, labels))
    time_width = max(7, *(cells(row.time) for row in report.account))
    for label, row in zip(labels, report.account, strict=True):
        padded = label + " " * (label_width - cells(label))
        text = f"{INDENT}{padded}  {row.time:>{time_width}}  {row.share:>5}"
        room = width - cells(text)
        # On a narrow terminal the place is worth more than the bar.
        place = f"  {row.place}" if row.place and cells(row.place) + 2 <= room else ""
        bar = f"  {row.bar:<20}" if cells(place) + 22 <= room else ""
        style = "" if row.indent else "bold"
        yield (Span(text, style), Span(bar if place else bar.rstrip(), "cyan"), Span(place, "dim"))


def _breakdown(breakdown: BreakdownView, width: int) -> Iterator[Line]:
    yield from paragraph(breakdown.step, width, lead=Span("time per step  ", "bold"))
    label_width = max((cells(p.label) for p in breakdown.parts), default=0)
    for part in breakdown.parts:
        label = part.label + " " * (label_width - cells(part.label))
        row = f"{INDENT}{label}  {part.share:>5}  {part.time:>7}"
        # On a narrow terminal a bar that would wrap is left out.
        room = width - cells(row)
        bar = f"  {part.bar}" if room >= 22 else ""
        has_room = bool(part.detail) and cells(bar) + cells(part.detail) + 2 <= room
        detail = f"  {part.detail}" if has_room else ""
        yield (Span(row), Span(bar, "cyan"), Span(detail, "dim"))


def _turbo(report: ReportView, width: int) -> Iterator[Line]:
    yield from paragraph(report.turbo, width, lead=Span("turbo    ", "bold"))
    for place in report.turbo_places:
        gain = Span(f"{INDENT}{place.gain:<7}", "bold green")
        under = Span(" " * cells(gain.text))
        yield from columns(Span(place.what), Span(place.place, "cyan"), width, lead=gain)
        yield from paragraph(place.figures, width, lead=under, style="dim")
        if place.edit:
            yield (under, Span("the same as an edit: "), Span(place.edit, "bold"))
    if report.turbo_left:
        yield (_PAD, Span("left alone"))
    for said in report.turbo_left:
        yield from paragraph(said, width, lead=Span(f"{INDENT}- "))


def _finding(finding: FindingView, width: int) -> Iterator[Line]:
    number = Span(f"{finding.number:<3}", _SEVERITY_STYLES.get(finding.severity, ""))
    yield from columns(
        Span(finding.cause, "bold"), Span(finding.gain, "bold green"), width, lead=number
    )
    if finding.after_first and finding.number != "1":
        later = Span(f"after the first fix: {finding.after_first}", "green")
        yield from columns(Span(""), later, width, lead=_PAD)
    yield from columns(Span(finding.summary), Span(finding.place, "cyan"), width, lead=_PAD)
    # The line is not shown twice: a change begins with it.
    if finding.source and not (finding.fix and finding.fix.hunks and finding.fix.hunks[0].before):
        yield (_PAD, Span(f"> {finding.source}", "cyan"))
    yield from _evidence(finding, width)
    if finding.basis:
        yield from paragraph(finding.basis, width, lead=_PAD, style="dim")
    if finding.not_found:
        other = f"ruled out: {'; '.join(finding.not_found)}"
        yield from paragraph(other, width, lead=_PAD, style="dim")
    if finding.fix:
        yield from _fix(finding.fix, width)
    yield from _next(finding, width)


def _evidence(finding: FindingView, width: int) -> Iterator[Line]:
    facts = [*finding.evidence]
    if finding.cost:
        facts.append(EvidenceView(finding.cost_label, finding.cost, finding.cost_detail))
    number_width = max(cells(fact.value) for fact in facts)
    for fact in facts:
        padded = fact.value + " " * (number_width - cells(fact.value) + 2)
        number = padded if fact.detail else fact.value
        yield from columns(Span(fact.what), Span(fact.detail), width, lead=_PAD, number=number)


def _fix(fix: FixView, width: int) -> Iterator[Line]:
    yield from paragraph(fix.title, width, lead=Span(f"{INDENT}fix: ", "bold"))
    # Source is never wrapped: it is there to be copied.
    for hunk in fix.hunks:
        if hunk.place:
            yield (_PAD, Span(hunk.place, "cyan"))
        yield from ((_PAD, Span(f"- {line}", "red")) for line in hunk.before)
        yield from ((_PAD, Span(f"+ {line}", "green")) for line in hunk.after)
    if fix.example:
        yield (_PAD, Span("for example"))
        yield from ((_PAD, Span(f"  {line}", "green")) for line in fix.example)
    if fix.short_way:
        yield (_PAD, Span("or shorter, with quickfit's own input pipeline"))
        yield from ((_PAD, Span(f"  {line}", "green")) for line in fix.short_way)
    if fix.note:
        yield from paragraph(fix.note, width, lead=Span(f"{INDENT}note: ", "bold"))


def _next(finding: FindingView, width: int) -> Iterator[Line]:
    effect = f"{finding.fix.effect} · " if finding.fix else ""
    command = f"explain: quickfit explain {finding.cause}"
    if cells(INDENT + effect + command) <= width:
        yield (_PAD, Span(effect), Span(command, "dim"))
    else:
        yield from paragraph(effect.removesuffix(" · "), width, lead=_PAD)
        yield (_PAD, Span(command, "dim"))


def _mentions(mentions: Sequence[FindingView], width: int) -> Iterator[Line]:
    is_all_of_time = all(finding.cost for finding in mentions)
    yield (Span("also seen, below 10 %" if is_all_of_time else "also seen", "bold"),)
    for finding in mentions:
        place = f" ({finding.place})" if finding.place else ""
        said = f"{finding.cause}, {finding.cost or finding.gain}: {finding.summary}{place}"
        yield from paragraph(said, width, lead=Span(f"{INDENT}- "))


def _remarks(report: ReportView, width: int) -> Iterator[Line]:
    yield from _bullets("worth trying", report.advice, width)
    for note in report.notes:
        yield from paragraph(note, width, lead=Span("note: ", "bold"))


def _rest(report: ReportView, width: int, *, verbose: bool) -> Iterator[Line]:
    if verbose:
        yield from _checked(report, width)
    elif report.checked:
        yield from paragraph(report.checked, width, lead=Span(""), style="dim")
    for said in (report.outcome, report.early):
        if said:
            yield from paragraph(said, width, lead=Span(""))
    if report.overhead:
        said = f"quickfit itself: {report.overhead}"
        yield from paragraph(said, width, lead=Span(""), style="dim")
    yield from _bullets("probes that turned themselves off:", report.probes_off, width)
    if report.fix_command:
        yield (Span("to make the fix and prove it: "), Span(report.fix_command, "bold"))
    yield (Span(f"as JSON: {report.command}", "dim"),)


def _checked(report: ReportView, width: int) -> Iterator[Line]:
    if report.clear:
        said = f"({len(report.clear)}): {', '.join(report.clear)}"
        yield from paragraph(f"checked and not found {said}", width, lead=Span(""), style="dim")
    head = f"not checked ({report.not_checked_count}):"
    if len(report.not_checked) == 1:
        yield from paragraph(f"{head} {report.not_checked[0]}", width, lead=Span(""))
    else:
        yield from _bullets(head, report.not_checked, width)


def _bullets(head: str, texts: tuple[str, ...], width: int) -> Iterator[Line]:
    if texts:
        yield (Span(head),)
    for said in texts:
        yield from paragraph(said, width, lead=Span(f"{INDENT}- "))
