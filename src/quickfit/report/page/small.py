"""The page of a report in small: one element for the output of a notebook's cell.

It has no script, no frame and no address, so it is drawn wherever HTML is; a viewer that takes its
style away shows the same as plain text, tables and lists. Colours come from the notebook, light or
dark; ours are behind bars and lines of a diff only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources

from quickfit import units
from quickfit.findings import Diagnosis, Severity, StepPoint
from quickfit.report import text
from quickfit.report.page.charts import HIGH, WIDE
from quickfit.report.page.markup import Html, element, join, sentence
from quickfit.report.view import AccountRowView, FindingView, FixView, ReportView, view

# The rows of the account that a cell shows; the page has them all.
MAX_ROWS = 8
# The share of the steps that the line of their times shows to scale; longer ones are cut off.
MOST_IN_VIEW = 0.95


def render_small(diagnosis: Diagnosis, *, status: str = "") -> str:
    """Return the report of a diagnosis as an element for a cell of a notebook.

    Args:
        diagnosis: what to show; with its details the step time is drawn.
        status: what the run is doing now, while it goes on.
    """
    report = view(diagnosis)
    return _frame(
        _head(diagnosis, status),
        element("p", sentence(report.headline), class_="qf-verdict"),
        element("p", sentence(report.device)),
        _steps(diagnosis),
        _account(report),
        *(_finding(one, is_open=not n) for n, one in enumerate(report.findings)),
        *_lists(report),
        *([] if status else [_footer(diagnosis, report)]),
    )


def render_status(status: str) -> str:
    """Return what a cell shows before there is anything to report."""
    return _frame(_line("quickfit", status))


def _frame(*parts: Html) -> Html:
    style = resources.files(__package__).joinpath("small.css").read_text(encoding="utf-8")
    return element("div", element("style", Html(style)), *parts, class_="quickfit-report")


def _line(*facts: str) -> Html:
    first, *others = filter(None, facts)
    return element(
        "p", element("b", first), *(element("span", one) for one in others), class_="qf-head"
    )


def _head(diagnosis: Diagnosis, status: str) -> Html:
    details = diagnosis.details
    took = units.seconds(details.total_s) if details is not None and not status else ""
    steps = units.count(details.steps) if details is not None and details.steps else ""
    counted = f"{steps} {'step' if steps == '1' else 'steps'}" if steps and not status else ""
    return _line("quickfit", text.path(diagnosis.script), counted, took, status)


def _steps(diagnosis: Diagnosis) -> Html:
    """Return the step time over the run as one line."""
    details = diagnosis.details
    if details is None or len(details.points) < 3 or details.total_s <= 0:
        return Html("")
    points = details.points
    times = sorted(point.median_s for point in points)
    # The first steps, and a few slow ones, would press all the others flat.
    highest = 1.2 * times[round(MOST_IN_VIEW * (len(times) - 1))]
    shown = f"Step time over the run, usually {units.seconds(times[len(times) // 2])}"
    return element(
        "svg",
        element("title", shown),
        element("path", d=_stairs(points, details.total_s, highest or 1.0)),
        class_="qf-steps",
        viewBox=f"0 0 {WIDE:g} {HIGH:g}",
        preserveAspectRatio="none",
        role="img",
        aria_label=shown,
    )


def _stairs(points: Sequence[StepPoint], total_s: float, highest: float) -> str:
    drawn, loop = [], None
    for point in points:
        left, right = (min(at_s / total_s, 1.0) * WIDE for at_s in (point.begin_s, point.end_s))
        up = 2 + (HIGH - 4) * (1 - min(point.median_s / highest, 1.0))
        # Loops are not joined: what lies between them is no step.
        drawn.append(f"{'V' if point.loop == loop else f'M{left:.1f} '}{up:.1f}H{right:.1f}")
        loop = point.loop
    return "".join(drawn)


def _account(report: ReportView) -> Html:
    rows = [row for row in report.account if len(row.indent) <= 2][:MAX_ROWS]
    if not rows:
        return Html("")
    lead = element("p", sentence(report.total)) if report.total else Html("")
    return join(lead, element("table", element("tbody", *map(_row, rows))))


def _row(row: AccountRowView) -> Html:
    filled = element("div", class_="qf-bar", style=f"width:{5 * len(row.bar)}%")
    return element(
        "tr",
        element("td", Html("&nbsp;" * 2 * len(row.indent)), sentence(row.label)),
        element("td", row.time, class_="qf-number"),
        element("td", row.share, class_="qf-number"),
        element("td", filled, class_="qf-track"),
        element("td", element("code", row.place) if row.place else ""),
    )


def _finding(finding: FindingView, *, is_open: bool) -> Html:
    place = [" ", element("code", finding.place)] if finding.place else []
    facts = [
        element(
            "li",
            sentence(fact.what),
            ": ",
            element("b", fact.value),
            sentence(f" ({fact.detail})") if fact.detail else "",
        )
        for fact in finding.evidence
    ]
    if finding.cost:
        facts.append(element("li", finding.cost_label, ": ", element("b", finding.cost)))
    return element(
        "details",
        element(
            "summary",
            element("b", finding.number),
            element("code", finding.cause),
            " ",
            element("span", finding.gain, class_="qf-gain"),
            *place,
        ),
        element("p", sentence(finding.summary)),
        element("ul", *facts) if facts else "",
        *(_fix(finding.fix) if finding.fix is not None else ()),
        element("p", element("code", f"!quickfit explain {finding.cause}")),
        class_="qf-severe" if finding.severity == Severity.SEVERE else None,
        open=is_open,
    )


def _fix(fix: FixView) -> Iterator[Html]:
    yield element("p", element("b", "Change: "), sentence(fix.title), f" ({fix.effect})")
    for hunk in fix.hunks:
        if hunk.place:
            yield element("p", element("code", hunk.place))
        gone = [element("span", f"- {line}\n", class_="qf-gone") for line in hunk.before]
        come = [element("span", f"+ {line}\n", class_="qf-come") for line in hunk.after]
        yield element("pre", *gone, *come, class_="qf-code")
    if fix.example:
        yield element("pre", "\n".join(fix.example), class_="qf-code")
    if fix.note:
        yield element("p", sentence(fix.note))


def _lists(report: ReportView) -> Iterator[Html]:
    for title, texts in (
        ("Also seen", [f"`{m.cause}`, {m.cost or m.gain}: {m.summary}" for m in report.mentions]),
        ("Worth trying", report.advice),
        ("Notes", (*report.notes, report.outcome)),
    ):
        lines = [element("li", sentence(each)) for each in texts if each]
        if lines:
            yield join(element("p", element("b", title)), element("ul", *lines))


def _footer(diagnosis: Diagnosis, report: ReportView) -> Html:
    command = report.command.removesuffix("--format json") + "--html report.html"
    return element("p", "As a page: ", element("code", f"!{command}"))
