"""The sections of a page, in the order they are read: the verdict first, what was checked last."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Sequence

from quickfit import __version__, units
from quickfit.findings import (
    AccountNode,
    Diagnosis,
    Finding,
    MemoryNode,
    PipelineStage,
    Symptom,
)
from quickfit.report import _sentences as sentences
from quickfit.report import text
from quickfit.report.page.charts import draw_course, mark_legend
from quickfit.report.page.icicle import KINDS, Placed, draw_icicle, place_of
from quickfit.report.page.markup import Html, Rules, element, join, sentence, table_of
from quickfit.report.page.source import (
    diff_of_text,
    diffs_of_hunks,
    listing_of,
    shows_place,
    source_around,
)
from quickfit.report.view import FindingView, ReportView, can_be_proven, told_findings, view

# Callbacks below this share of the run are counted, not listed.
MIN_CALLBACK_SHARE = 0.0005
MAX_CALLBACKS = 20
# A slowest stage is marked where the step waits this share of its time for it.
MIN_WAIT_SHARE = 0.05
# A pipeline of many branches is drawn as far as it can be read.
MAX_STAGES = 24


DEVICE_KINDS = {"unused": "alert", "unknown": "doubt"}
# The colours of the phases are those of the account.
PHASE_KINDS = {
    **{name: KINDS[name] for name in ("data", "model", "other", "tracing", "evaluating")},
    "predicting": "look",
    "calling": "look",
    "shuffle_fill": "input",
    "first_batch": "input",
    "first_step": "compute",
}


def page_body(diagnosis: Diagnosis, nodes: Sequence[Placed], rules: Rules) -> Html:
    """Return everything between the head of the page and its script."""
    report = view(diagnosis)
    return join(
        _masthead(diagnosis),
        element(
            "main",
            _verdict(diagnosis, report),
            _section("time", "Where the time went", _time(report, nodes, rules)),
            _findings(diagnosis, report),
            _section("course", "Over the run", _course(diagnosis, rules)),
            _section("input", "Input pipeline", _pipeline(diagnosis, rules)),
            _section("callbacks", "Callbacks", _callbacks(diagnosis.account)),
            _section("first-step", "Time to the first step", _first_step(diagnosis, rules)),
            _section("checked", "What was checked", _checked(diagnosis, report)),
        ),
        _footer(diagnosis, report),
    )


def _section(name: str, title: str, content: Html) -> Html:
    if not content:
        return Html("")
    return element("section", element("h2", title), content, id=f"s-{name}")


def _paragraphs(texts: Sequence[str], kind: str = "") -> Html:
    return join(*(element("p", sentence(each), class_=kind or None) for each in texts if each))


# -- the verdict --------------------------------------------------------------------------------


def _masthead(diagnosis: Diagnosis) -> Html:
    details = diagnosis.details
    facts = []
    if details is not None:
        if details.started_at is not None and abs(details.started_at) < 4e9:
            facts.append(time.strftime("%-d %b %Y, %H:%M", time.localtime(details.started_at)))
        facts.append(units.seconds(details.total_s))
        if details.steps:
            facts.append(
                f"{units.count(details.steps)} {'step' if details.steps == 1 else 'steps'}"
            )
    facts.append(text.prose(diagnosis.outcome.text))
    return element(
        "header",
        element("span", "quickfit", class_="brand"),
        element("span", text.path(diagnosis.script) or "a run", class_="script"),
        *(element("span", fact, class_="fact") for fact in facts),
    )


def _verdict(diagnosis: Diagnosis, report: ReportView) -> Html:
    lead, colon, rest = report.headline.partition(": ")
    is_lead = bool(colon) and len(lead.split()) <= 5
    first = join(element("b", f"{lead}:"), " ") if is_lead else Html("")
    headline = element("h1", first, sentence(rest if is_lead else report.headline), id="verdict")
    status = diagnosis.device.status
    device = element(
        "p",
        element("span", "device", class_="kicker"),
        " ",
        sentence(report.device),
        class_=f"device {DEVICE_KINDS.get(status, '')}".rstrip(),
        id="device",
    )
    facts = report.device_facts if status in DEVICE_KINDS else ()
    return element(
        "section",
        element(
            "div",
            headline,
            device,
            _paragraphs((*facts, report.device_advice), "device-fact"),
            class_="verdict-text",
        ),
        _figure(diagnosis),
        class_=f"verdict v-{diagnosis.verdict}" if diagnosis.verdict.isascii() else "verdict",
    )


def _figure(diagnosis: Diagnosis) -> Html:
    """Return the one number of a report: what the first fix brings, or what runs out when."""
    told = told_findings(diagnosis)
    first = told[0] if told else None
    if first is None:
        if diagnosis.breakdown is None:
            return Html("")
        step = units.seconds(diagnosis.breakdown.step_s)
        return _big(step, "a step", f"± {units.seconds(diagnosis.breakdown.step_spread_s)}", "calm")
    if first.symptom == Symptom.STUCK and not first.is_past:
        marks = diagnosis.details.marks if diagnosis.details is not None else ()
        quiet_s = sum(mark.end_s - mark.begin_s for mark in marks if mark.kind == "stuck")
        return _big(units.seconds(quiet_s), "nothing moved", "", "alert") if quiet_s else Html("")
    used, gain = first.exhaustion, first.gain
    if used is not None and used.in_s is not None and used.held is None:
        left = units.about(used.in_s) if used.in_s > 0 else "now"
        return _big(left, f"until the limit of {used.what}", "at this rate", "alert")
    if not math.isfinite(gain.likely) or gain.likely < 1.005:
        return Html("")
    what = "the run" if first.is_of_run else "training"
    low, high = units.factor(gain.low), units.factor(gain.high)
    span = f"{low.rstrip('×')}–{high}, predicted" if low != high else "predicted"
    return _big(units.factor(gain.likely), f"{what} speed, with the first fix", span, "good")


def _big(number: str, what: str, more: str, kind: str) -> Html:
    return element(
        "p",
        element("span", number, class_="big"),
        element("span", what, class_="what"),
        element("span", more, class_="more"),
        class_=f"figure {kind}",
        id="figure",
    )


def _time(report: ReportView, nodes: Sequence[Placed], rules: Rules) -> Html:
    if nodes:
        lead = element("p", sentence(report.total), class_="lead") if report.total else ""
        return join(lead, draw_icicle(nodes, rules))
    if report.breakdown is None:
        return Html("")
    rows = [
        element("tr", *(element("td", each) for each in (p.label, p.time, p.share, p.detail)))
        for p in report.breakdown.parts
    ]
    return join(_paragraphs([report.breakdown.step], "lead"), element("table", *rows))


# -- findings -----------------------------------------------------------------------------------


def _findings(diagnosis: Diagnosis, report: ReportView) -> Html:
    told = told_findings(diagnosis)
    cards = [
        _card(finding, shown, diagnosis)
        for finding, shown in zip(told, report.findings, strict=True)
    ]
    mentions = [
        element(
            "li",
            element("code", one.cause),
            f", {one.cost or one.gain}: ",
            sentence(one.summary),
            *((" ", element("code", one.place, class_="place")) if one.place else ()),
        )
        for one in report.mentions
    ]
    also = (
        [element("h3", "Also seen"), element("ul", *mentions, class_="plain")] if mentions else []
    )
    advice = [element("h3", "Worth trying"), _paragraphs(report.advice)] if report.advice else []
    notes = [element("h3", "Notes"), _paragraphs(report.notes)] if report.notes else []
    content = join(*cards, *also, *advice, *notes)
    return _section("findings", "Findings" if cards else "Remarks", content)


def _card(finding: Finding, shown: FindingView, diagnosis: Diagnosis) -> Html:
    run = shlex.quote(text.path(diagnosis.run))
    if can_be_proven(finding):
        command, does = f"quickfit fix {run} {shown.cause}", "make the fix and prove it"
    else:
        command, does = f"quickfit explain {shown.cause}", "what it means and what to do"
    after = (
        [element("span", f"after the first fix: {shown.after_first}", class_="after")]
        if shown.after_first and shown.number != "1"
        else []
    )
    return element(
        "article",
        element(
            "header",
            element("b", shown.number, class_="badge"),
            element("h3", text.one_line(finding.title) or shown.cause),
            element("code", shown.cause, class_="cause"),
            element("span", shown.gain, class_="gain"),
            *after,
        ),
        element("p", sentence(shown.summary), class_="summary"),
        _evidence(finding, shown),
        _place(finding, shown, diagnosis),
        _change(finding, shown, diagnosis),
        element(
            "div",
            element("span", does, class_="does"),
            element("code", command, class_="cmd"),
            element("button", "copy", type="button", class_="copy", aria_label=f"Copy: {command}"),
            class_="command",
        ),
        class_=f"card sev-{shown.severity}",
        id=f"finding-{shown.number}",
    )


def _evidence(finding: Finding, shown: FindingView) -> Html:
    rows = [
        _fact(fact.what, fact.value, fact.detail, given.value if given.unit == "share" else None)
        for fact, given in zip(shown.evidence, finding.evidence, strict=True)
    ]
    if shown.cost:
        rows.append(_fact(shown.cost_label, shown.cost, shown.cost_detail, finding.cost_share))
    why = [shown.basis, f"ruled out: {'; '.join(shown.not_found)}" if shown.not_found else ""]
    return join(
        element("table", element("tbody", *rows), class_="evidence"), _paragraphs(why, "why")
    )


def _fact(what: str, value: str, detail: str, share: float | None) -> Html:
    return element(
        "tr",
        element("th", sentence(what), scope="row"),
        element("td", value, class_="number"),
        element("td", _bar(share) if share is not None else "", sentence(detail)),
    )


def _bar(share: float) -> Html:
    filled = round(100 * min(max(share, 0.0), 1.0), 1) if math.isfinite(share) else 0
    return element(
        "svg",
        element("rect", width=100, height=6, class_="bar-all"),
        element("rect", width=filled, height=6, class_="bar-part"),
        class_="bar",
        viewBox="0 0 100 6",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def _place(finding: Finding, shown: FindingView, diagnosis: Diagnosis) -> Html:
    if finding.where is None or shows_place(finding):
        return Html("")
    excerpts = diagnosis.details.excerpts if diagnosis.details is not None else ()
    listing = source_around(finding.where, excerpts)
    return element("figure", element("figcaption", element("code", shown.place)), listing)


def _change(finding: Finding, shown: FindingView, diagnosis: Diagnosis) -> Html:
    fix, drawn = finding.fix, shown.fix
    if fix is None or drawn is None:
        return Html("")
    excerpts = diagnosis.details.excerpts if diagnosis.details is not None else ()
    parts: list[Html] = []
    if fix.hunks:
        for hunk, listing in diffs_of_hunks(fix.hunks, excerpts):
            place = sentences.line_of(hunk.file, hunk.line, hunk.cell)
            caption = element("figcaption", element("code", place))
            parts.append(element("figure", caption, listing))
    elif fix.before or fix.after:
        parts.append(element("figure", diff_of_text(fix.before, fix.after)))
    elif fix.example:
        caption = element("figcaption", "for example")
        parts.append(element("figure", caption, listing_of(fix.example)))
    if fix.short_way:
        caption = element("figcaption", "or shorter, with quickfit's own input pipeline")
        parts.append(element("figure", caption, listing_of(fix.short_way)))
    title = element(
        "p",
        element("b", "Change: "),
        sentence(drawn.title),
        " ",
        element("span", drawn.effect, class_=f"effect e-{fix.kind}"),
        class_="change",
    )
    note = [element("p", element("b", "Note: "), sentence(drawn.note))] if drawn.note else []
    return join(title, *parts, *note)


# -- over the run -------------------------------------------------------------------------------


def _course(diagnosis: Diagnosis, rules: Rules) -> Html:
    details = diagnosis.details
    if details is None or not (details.points or details.memory) or details.total_s <= 0:
        return Html("")
    lead = [sentences.steps(diagnosis.breakdown)] if diagnosis.breakdown is not None else []
    stuck = [text.prose(mark.label) for mark in details.marks if mark.kind == "stuck"]
    return join(
        _paragraphs([f"A step: {each}" for each in lead], "lead"),
        _paragraphs([f"Nothing moved: {each}" for each in stuck], "alert"),
        mark_legend(details),
        draw_course(diagnosis, details, rules),
        element("p", class_="reading", id="reading", aria_live="off"),
        _memory(diagnosis),
    )


def _memory(diagnosis: Diagnosis) -> Html:
    account = diagnosis.memory
    if account is None:
        return Html("")
    of = f" of {units.size(account.limit_bytes)} that it may use" if account.limit_bytes else ""
    lead = f"{units.size(account.bytes)}{of}, at its peak."
    rows = [row for part in account.parts for row in _memory_rows(part, 0)]
    table = table_of(("", "held", "growth", "line"), rows, label="What held the memory")
    return join(element("h3", "What held the memory"), _paragraphs([lead], "lead"), table)


def _memory_rows(node: MemoryNode, depth: int) -> list[tuple[Html, ...]]:
    grows = ", ".join(f"+{units.size(g.bytes)} per {g.per}" for g in node.growth[:2])
    name = node.name if not depth and node.name.isidentifier() else ""
    dot = [element("i", class_=f"dot h-{name}")] if name else []
    detail = f" ({text.prose(node.detail)})" if node.detail else ""
    label = sentence(text.one_line(node.label) + detail)
    row = (
        element("span", *dot, label, class_=f"in{depth}"),
        join(units.size(node.bytes)),
        join(grows),
        place_of(node.where),
    )
    return [row, *(each for part in node.parts for each in _memory_rows(part, depth + 1))]


# -- the input ----------------------------------------------------------------------------------


def _pipeline(diagnosis: Diagnosis, rules: Rules) -> Html:
    details = diagnosis.details
    if details is None or not details.stages:
        return Html("")
    stages, step = details.stages[:MAX_STAGES], diagnosis.breakdown
    longest = max(*(stage.step_s for stage in stages), step.step_s if step else 0.0, 1e-9)
    waits = details.wait_share
    slowest = max(stages, key=lambda stage: stage.period_s)
    limits = waits is not None and waits >= MIN_WAIT_SHARE
    drawn = [_stage(stage, longest, limits and stage is slowest) for stage in stages]
    if step is not None:
        said = f"waits for input {units.share(waits)} of its time" if waits is not None else ""
        drawn.append(
            element(
                "li",
                element("div", element("b", "the train step"), class_="stage-head"),
                _step_bar(step.step_s, waits or 0.0, longest),
                element("div", units.seconds(step.step_s), class_="number"),
                element("div", sentence(said), class_="stage-note"),
                class_="stage sink",
            )
        )
    lead = (
        "From the source to the step. A bar is the work of a stage per step, one for each thread."
    )
    return join(
        _paragraphs([lead], "lead"), element("ol", *drawn, class_="pipeline", id="pipeline")
    )


def _stage(stage: PipelineStage, longest: float, is_slowest: bool) -> Html:
    facts = []
    if stage.elements >= 1.5:
        each = units.seconds(stage.step_s / stage.elements)
        facts.append(f"{units.count(stage.elements)} elements a step, {each} each")
    if stage.element_bytes:
        facts.append(units.size(stage.element_bytes))
    if stage.parallelism > 1:
        facts.append(f"{stage.parallelism:g} in parallel")
    place = [element("code", sentences.place(stage.where), class_="place")] if stage.where else []
    flag = [element("span", "slowest", class_="flag")] if is_slowest else []
    label = element("b", sentence(text.one_line(stage.label)))
    return element(
        "li",
        element("div", label, *flag, *place, class_="stage-head"),
        _work(stage.step_s, stage.parallelism, longest, "input"),
        element("div", units.seconds(stage.step_s), class_="number"),
        element("div", sentence(" · ".join(facts)), _buffer(stage), class_="stage-note"),
        class_=f"stage b{min(stage.depth, 3)}{' slowest' if is_slowest else ''}",
    )


def _work(step_s: float, parallelism: float, longest: float, kind: str) -> Html:
    """Return the work of a stage as bars, one for each of its threads."""
    threads = min(max(round(parallelism), 1), 16)
    width = round(100 * step_s / threads / longest, 2)
    high = 12.0 / threads
    bars = [
        element(
            "rect", x=0, y=round(n * high, 2), width=max(width, 0.4), height=round(high * 0.8, 2)
        )
        for n in range(threads)
    ]
    return element(
        "svg",
        *bars,
        class_=f"work k-{kind}",
        viewBox="0 0 100 12",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def _step_bar(step_s: float, wait_share: float, longest: float) -> Html:
    """Return a step as a bar: what it computes, and behind that what it waits for input."""
    width = 100 * step_s / longest
    waits = wait_share if wait_share >= MIN_WAIT_SHARE else 0.0
    own = width * (1 - min(waits, 1.0))
    bars = [
        element("rect", x=0, y=0, width=round(own, 2), height=9.6),
        element(
            "rect", x=round(own, 2), y=0, width=round(width - own, 2), height=9.6, class_="waits"
        ),
    ]
    return element(
        "svg",
        *bars,
        class_="work k-compute",
        viewBox="0 0 100 12",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def _buffer(stage: PipelineStage) -> Html:
    """Return how full the buffer of a stage was."""
    held = stage.buffered or 0.0
    room = max(stage.buffer or 0.0, held)
    if stage.buffered is None or room <= 0:
        return Html("")
    ready = f"{held:.1f}".removesuffix(".0")
    if not stage.buffer:
        return element("span", f"{ready} ready on average", class_="buffer")
    said = f"buffer {ready} of {units.count(room)}"
    return element("span", _bar(held / room), said, class_="buffer")


def _callbacks(account: AccountNode | None) -> Html:
    nodes = [n for n in account.walk() if n.name == "callback"] if account is not None else []
    nodes.sort(key=lambda node: -node.seconds)
    large = [n for n in nodes if n.share >= MIN_CALLBACK_SHARE][:MAX_CALLBACKS]
    if not nodes:
        return Html("")
    rows = [
        (
            element("code", text.one_line(node.label)),
            join(units.seconds(node.seconds)),
            join(units.share(node.share)),
            join(units.count(node.count) if node.count else ""),
            join(units.seconds(node.seconds / node.count) if node.count else ""),
            place_of(node.where),
        )
        for node in large
    ]
    left = len(nodes) - len(large)
    rest_s = sum(node.seconds for node in nodes) - sum(node.seconds for node in large)
    which = "The other hooks" if large else "All hooks"
    rest = f"{which} ({left}) take {units.seconds(rest_s)} together." if left else ""
    titles = ("", "time", "of the run", "calls", "each", "line")
    return join(table_of(titles, rows, label="Callbacks"), _paragraphs([rest], "why"))


def _first_step(diagnosis: Diagnosis, rules: Rules) -> Html:
    phases = [phase for phase in diagnosis.phases if phase.seconds > 0]
    total_s = sum(phase.seconds for phase in phases)
    if not phases or total_s <= 0:
        return Html("")
    left, parts, rows = 0.0, [], []
    for phase in phases:
        width = 100 * phase.seconds / total_s
        place = rules.place(left=left, width=width)
        label = text.one_line(phase.label)
        took = units.seconds(phase.seconds)
        kind = f"k-{PHASE_KINDS.get(phase.name, 'frame')}"
        shown = element("span", label) if width > 9 else ""
        parts.append(
            element("span", shown, class_=f"phase {kind} {place}", title=f"{label} {took}")
        )
        left += width
        opened = " (last seen here)" if phase.is_open else ""
        rows.append(
            (
                join(element("i", class_=f"dot {kind}"), label + opened),
                join(took),
                join(units.share(phase.seconds / total_s)),
                join(text.one_line(phase.detail)),
            )
        )
    is_open = any(phase.is_open for phase in phases)
    lead = (
        f"No first step in {units.seconds(total_s)}:" if is_open else f"{units.seconds(total_s)}:"
    )
    return join(
        _paragraphs([lead], "lead"),
        element("div", *parts, class_="phases-inner wide", aria_hidden="true"),
        table_of(("", "time", "share", "where"), rows, label="Phases before the first step"),
    )


# -- the end ------------------------------------------------------------------------------------


def _checked(diagnosis: Diagnosis, report: ReportView) -> Html:
    found = sorted({text.one_line(finding.cause) for finding in diagnosis.findings})
    groups = [("found", found), ("not there", list(report.clear))]
    parts = [
        element(
            "details",
            element("summary", f"{label} ({len(names)})"),
            element("p", *(element("code", name, class_="chip") for name in names), class_="chips"),
            open=len(names) <= 6,
        )
        for label, names in groups
        if names
    ]
    if report.not_checked:
        parts.append(
            element(
                "details",
                element("summary", f"could not be checked ({report.not_checked_count})"),
                element("ul", *(element("li", sentence(one)) for one in report.not_checked)),
            )
        )
    cost = f"quickfit itself: {report.overhead}" if report.overhead else ""
    said = [report.early, report.outcome, cost]
    off = [f"Turned itself off: {probe}" for probe in report.probes_off]
    return join(*parts, _paragraphs([*said, *off], "why"))


def _footer(diagnosis: Diagnosis, report: ReportView) -> Html:
    run = shlex.quote(text.path(diagnosis.run))
    return element(
        "footer",
        element(
            "p",
            f"quickfit {__version__} · this file loads nothing and sends nothing · ",
            element("code", f"quickfit report {run}"),
        ),
    )
