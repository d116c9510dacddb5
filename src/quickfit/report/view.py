"""Turns a diagnosis into a plain view model, in which every number is already text.

The renderers for people draw from it. Every string in it is harmless for a terminal
(`quickfit.report.text`); a renderer for another medium still escapes for its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit import units
from quickfit.findings import (
    AccountNode,
    Breakdown,
    BreakdownPart,
    Diagnosis,
    Evidence,
    Finding,
    Fix,
    Severity,
    Symptom,
    TurboPlace,
)
from quickfit.report import _sentences as sentences
from quickfit.report import text

# A part below one percent is noise next to the others.
MIN_PART_SHARE = 0.01
BAR_CELLS = 20
# The tree shows nodes from a twentieth of the run on, three levels deep.
MIN_NODE_SHARE = 0.05
MAX_DEPTH = 2
MAX_LABEL = 44
# Iterators whose ends took less are not worth a line.
MIN_WAIT_S = 0.1
# A change is there to be copied. What it takes away, the user has before their eyes.
MAX_HUNK_LINES = 80
MAX_REMOVED_LINES = 6


@dataclass(frozen=True)
class PartView:
    """One part of a step: `bar` is a row of `#`, twenty for the whole step."""

    label: str
    share: str
    time: str
    bar: str
    detail: str


@dataclass(frozen=True)
class BreakdownView:
    """Where the time of a step went, and what the step time was."""

    step: str
    parts: tuple[PartView, ...]


@dataclass(frozen=True)
class AccountRowView:
    """One line of the account: `indent` is how far it is set in, `bar` is a row of `#`."""

    indent: str
    label: str
    time: str
    share: str
    bar: str
    place: str


@dataclass(frozen=True)
class EvidenceView:
    """One measured fact: words, number, and how it was measured."""

    what: str
    value: str
    detail: str


@dataclass(frozen=True)
class HunkView:
    """One place of a change; `place` is empty where the change has no other."""

    place: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class FixView:
    """A change as lines of source, place by place, or an example where there are none."""

    title: str
    effect: str
    hunks: tuple[HunkView, ...]
    example: tuple[str, ...]
    note: str
    short_way: tuple[str, ...] = ()


@dataclass(frozen=True)
class FindingView:
    """One finding in words; `number` is empty for one that is only mentioned.

    `gain` says what runs out, and `cost` nothing, where memory and not time is what it costs.
    """

    number: str
    cause: str
    severity: str
    gain: str
    basis: str
    after_first: str
    summary: str
    place: str
    source: str
    cost: str
    cost_label: str
    cost_detail: str
    evidence: tuple[EvidenceView, ...]
    not_found: tuple[str, ...]
    fix: FixView | None


@dataclass(frozen=True)
class TurboView:
    """A line of the script that `--turbo` made faster: gain, what was done, figures, the edit."""

    gain: str
    what: str
    place: str
    figures: str
    edit: str


@dataclass(frozen=True)
class ReportView:
    """A whole report in the order it is read; empty strings and tuples are left out of it."""

    device: str
    device_status: str
    device_facts: tuple[str, ...]
    device_advice: str
    verdict: str
    headline: str
    total: str
    account: tuple[AccountRowView, ...]
    memory: str
    breakdown: BreakdownView | None
    first_step: str
    findings: tuple[FindingView, ...]
    mentions: tuple[FindingView, ...]
    advice: tuple[str, ...]
    notes: tuple[str, ...]
    checked: str
    clear: tuple[str, ...]
    not_checked: tuple[str, ...]
    not_checked_count: str
    outcome: str
    early: str
    overhead: str
    probes_off: tuple[str, ...]
    command: str
    fix_command: str = ""
    turbo: str = ""
    turbo_places: tuple[TurboView, ...] = ()
    turbo_left: tuple[str, ...] = ()


def told_findings(diagnosis: Diagnosis) -> list[Finding]:
    """Return the findings that have a number in a report; the others are mentioned in a line."""
    return [f for f in diagnosis.findings if f.severity != Severity.MENTION]


def view(diagnosis: Diagnosis) -> ReportView:
    """Return what a report of `diagnosis` says, ready to be laid out."""
    told = told_findings(diagnosis)
    mentions = [f for f in diagnosis.findings if f.severity == Severity.MENTION]
    run = shlex.quote(text.path(diagnosis.run))
    return ReportView(
        device=text.prose(diagnosis.device.summary),
        device_status=diagnosis.device.status,
        device_facts=_prose(diagnosis.device.facts),
        device_advice=text.prose(diagnosis.device.advice),
        verdict=diagnosis.verdict,
        headline=text.prose(diagnosis.headline),
        total=sentences.whole_run(diagnosis.account, diagnosis.breakdown),
        account=tuple(_account_rows(diagnosis.account)),
        memory=sentences.memory(diagnosis.memory),
        # The account says it all; recordings without a clock have only their steps.
        breakdown=_breakdown(diagnosis.breakdown)
        if diagnosis.breakdown and diagnosis.account is None
        else None,
        first_step=_first_step(diagnosis) if _says_first_step(diagnosis) else "",
        findings=tuple(_finding(f, str(n)) for n, f in enumerate(told, start=1)),
        mentions=tuple(_finding(f, "") for f in mentions),
        advice=_prose(diagnosis.advice),
        notes=_prose(diagnosis.notes),
        checked=sentences.checked(diagnosis, run),
        clear=tuple(text.one_line(c.cause) for c in diagnosis.clear),
        not_checked=sentences.not_checked(diagnosis.not_checked),
        not_checked_count=units.count(len(diagnosis.not_checked)),
        outcome=sentences.outcome(diagnosis.outcome),
        early=sentences.early(diagnosis.early),
        # What another tool recorded cost nothing of ours.
        overhead=sentences.overhead(diagnosis.overhead) if diagnosis.verdict != "profile" else "",
        probes_off=sentences.probes_off(diagnosis.overhead),
        command=f"quickfit report {run} --format json",
        # What a machine suffers from, no edit can change; what runs out, no short trial shows.
        fix_command=f"quickfit fix {run}" if any(map(can_be_proven, told)) else "",
        turbo=sentences.turbo(diagnosis.turbo),
        turbo_places=tuple(
            _turbo_place(place, diagnosis.script)
            for place in diagnosis.turbo or ()
            if place.state in ("kept", "open") and not _is_short_wait(place)
        ),
        turbo_left=tuple(
            sentences.turbo_left(place)
            for place in diagnosis.turbo or ()
            if place.state in ("left", "dropped")
        ),
    )


def _is_short_wait(place: TurboPlace) -> bool:
    return place.unit == "iterator" and (place.saved_s or 0.0) < MIN_WAIT_S


def _turbo_place(place: TurboPlace, script: str) -> TurboView:
    timed = place.on_s is not None and place.off_s is not None and place.on_s > 0
    cause = shlex.quote(text.one_line(place.cause, limit=60))
    edit = f"quickfit fix {shlex.quote(text.path(script))} {cause}" if place.cause else ""
    return TurboView(
        gain=units.factor((place.off_s or 0.0) / (place.on_s or 1.0)) if timed else "",
        what=text.prose(place.what),
        place=sentences.place(place.where),
        figures=text.prose(sentences.turbo_figures(place)),
        edit=edit,
    )


def _says_first_step(diagnosis: Diagnosis) -> bool:
    """Tell whether the way to the first step is worth a line: the account has it all, as a rule."""
    is_over = diagnosis.breakdown is not None or diagnosis.outcome.text == "finished"
    return diagnosis.account is None or not is_over


def can_be_proven(finding: Finding) -> bool:
    """Tell whether `quickfit fix` can make the change of a finding and measure what it brings."""
    fix, is_stuck = finding.fix, finding.symptom == Symptom.STUCK
    is_of_speed = not finding.is_of_machine and not is_stuck and finding.exhaustion is None
    # A notebook is not a script that can be run again.
    is_in_cell = finding.where is not None and bool(finding.where.cell)
    return is_of_speed and not is_in_cell and fix is not None and bool(fix.hunks or fix.after)


def _prose(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text.prose(t) for t in texts if t.strip())


def _account_rows(root: AccountNode | None) -> Iterator[AccountRowView]:
    """Yield the nodes that are large enough, parents first."""
    for node in root.children if root is not None else ():
        yield from _node_rows(node, 0)


def _node_rows(node: AccountNode, depth: int) -> Iterator[AccountRowView]:
    if node.share < MIN_NODE_SHARE:
        return
    filled = round(min(node.share, 1.0) * BAR_CELLS)
    yield AccountRowView(
        "  " * depth,
        text.one_line(node.label, limit=MAX_LABEL - 2 * depth),
        units.seconds(node.seconds),
        units.share(node.share),
        "#" * filled,
        text.one_line(node.where.short, limit=40) if node.where is not None else "",
    )
    if depth < MAX_DEPTH:
        for child in node.children:
            yield from _node_rows(child, depth + 1)


def _breakdown(breakdown: Breakdown) -> BreakdownView:
    parts = [p for p in breakdown.parts if p.share >= MIN_PART_SHARE]
    parts.sort(key=lambda part: part.share, reverse=True)
    return BreakdownView(
        step=sentences.steps(breakdown),
        parts=tuple(_part(p) for p in parts),
    )


def _first_step(diagnosis: Diagnosis) -> str:
    first_s = diagnosis.breakdown.time_to_first_step_s if diagnosis.breakdown else None
    known = "" if first_s is None else f"after {units.seconds(first_s)}"
    return sentences.first_step(diagnosis.phases) or known


def _part(part: BreakdownPart) -> PartView:
    filled = max(1, round(min(part.share, 1.0) * BAR_CELLS))
    label = text.one_line(part.label, limit=40)
    detail = text.one_line(part.detail, limit=60)
    share, time = units.share(part.share), units.seconds(part.step_s)
    return PartView(label, share, time, "#" * filled, detail)


def _finding(finding: Finding, number: str) -> FindingView:
    later, used_up = finding.after_first, finding.exhaustion
    is_stuck = finding.symptom == Symptom.STUCK
    where = finding.where
    return FindingView(
        number=number,
        cause=text.one_line(finding.cause, limit=60),
        severity=finding.severity,
        gain=_brings(finding),
        basis=sentences.basis(finding.gain),
        after_first=units.factor(later.likely) if later and not used_up else "",
        summary=text.prose(finding.summary),
        place=sentences.place(where),
        source=text.one_line(where.text.strip()) if where else "",
        cost=""
        if used_up or is_stuck or not finding.cost_share
        else units.share(finding.cost_share),
        cost_label="share of the run this costs"
        if finding.is_of_run
        else "training time this costs now",
        cost_detail=sentences.cost_detail(finding),
        evidence=tuple(_evidence(e) for e in finding.evidence),
        not_found=_prose(finding.not_found),
        fix=_fix(finding),
    )


def _brings(finding: Finding) -> str:
    """Return what stands beside the name of a finding: its gain, or what runs out."""
    if finding.exhaustion is not None:
        return sentences.exhaustion(finding.exhaustion)
    if finding.symptom == Symptom.STUCK and finding.is_past:
        return "over: the run went on by itself"
    return sentences.gain(finding.gain, finding.symptom, is_of_run=finding.is_of_run)


def _evidence(evidence: Evidence) -> EvidenceView:
    details = (text.prose(evidence.detail), sentences.place(evidence.where))
    return EvidenceView(
        what=text.prose(evidence.what),
        value=units.quantity(evidence.value, evidence.unit),
        detail=", ".join(each for each in details if each),
    )


def _fix(finding: Finding) -> FixView | None:
    fix = finding.fix
    if fix is None:
        return None
    hunks = _hunks(fix)
    (example,), (short_way,) = text.code(fix.example), text.code(fix.short_way)
    return FixView(
        title=text.prose(fix.title),
        effect=sentences.EFFECTS[fix.kind],
        hunks=hunks,
        example=() if hunks else example,
        note=text.prose(fix.note),
        short_way=short_way,
    )


def _hunks(fix: Fix) -> tuple[HunkView, ...]:
    if not fix.hunks:
        before, after = text.code(fix.before, fix.after)
        return (HunkView("", before, after),) if before or after else ()
    found = []
    for hunk in fix.hunks:
        before, after = text.code(hunk.before, hunk.after, most=MAX_HUNK_LINES)
        if len(before) > MAX_REMOVED_LINES:
            last = hunk.line + hunk.before.count("\n")
            before = (*before[: MAX_REMOVED_LINES - 1], f"{text.ELLIPSIS} to line {last}")
        place = sentences.line_of(hunk.file, hunk.line, hunk.cell) if len(fix.hunks) > 1 else ""
        found.append(HunkView(place, before, after))
    return tuple(found)
