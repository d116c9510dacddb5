"""Two trainings on one page: the verdict, what changed, and the account of each."""

from __future__ import annotations

from quickfit import __version__, units
from quickfit.findings import ComparedNode, ComparedSide, Comparison, Finding
from quickfit.report import comparison as words
from quickfit.report import text
from quickfit.report.page.icicle import KINDS, place_of
from quickfit.report.page.markup import Html, element, join, sentence, table_of

_FIGURES = {"slower": "alert", "faster": "good", "same": "calm", "unsure": "calm"}
_STATE_KINDS = {"grew": "alert", "shrank": "good"}


def comparison_body(comparison: Comparison) -> Html:
    """Return everything between the head of the page and its script."""
    parts = [
        _section("Where the time goes", _nodes(comparison)),
        _section("New findings", _findings(comparison.new)),
        _section("Findings that are gone", _findings(comparison.gone)),
        _section("Also different", join(*(_line(note) for note in comparison.differences))),
        _section("Before", _side(comparison.before, comparison.unit)),
        _section("After", _side(comparison.after, comparison.unit)),
    ]
    return join(
        element(
            "header",
            element("span", "quickfit compare", class_="brand"),
            element("span", text.path(comparison.after.diagnosis.script), class_="script"),
            element("span", f"quickfit {__version__}", class_="fact"),
        ),
        element("main", _verdict(comparison), *parts),
    )


def _section(title: str, content: Html) -> Html:
    return element("section", element("h2", title), content) if content else Html("")


def _line(said: str) -> Html:
    return element("p", sentence(text.prose(said)))


def _verdict(comparison: Comparison) -> Html:
    lead, colon, rest = words.headline(comparison).partition(": ")
    slower, figure = comparison.slower, Html("")
    if slower is not None:
        low, high = units.factor(slower.low), units.factor(slower.high)
        figure = element(
            "p",
            element("span", units.factor(slower.likely), class_="big"),
            element("span", "as long as before", class_="what"),
            element("span", f"{low.rstrip('×')}–{high}, 95 %", class_="more"),
            class_=f"figure {_FIGURES[comparison.verdict]}",
            id="figure",
        )
    headline = join(element("b", f"{lead}{colon}"), sentence(rest))
    by = element("p", sentence(f"By {text.prose(comparison.basis)}."), class_="device")
    return element(
        "section",
        element("div", element("h1", headline, id="verdict"), by, class_="verdict-text"),
        figure,
        class_="verdict",
    )


def _nodes(comparison: Comparison) -> Html:
    longest: dict[str, float] = {}
    for node in comparison.nodes:
        most = max(node.before_s, node.after_s, longest.get(node.unit, 0.0))
        longest[node.unit] = most
    rows = []
    for node, shown in zip(
        comparison.nodes, words.node_rows(comparison, most=len(comparison.nodes)), strict=True
    ):
        state = element("span", shown.state, class_=_STATE_KINDS.get(node.state))
        rows.append(
            (
                element("span", sentence(shown.label), class_=f"in{min(node.depth, 6)}"),
                join(shown.before),
                join(shown.after),
                _bars(node, longest[node.unit]),
                join(shown.change),
                join(state, " ", place_of(node.where)),
            )
        )
    titles = ("part", "before", "after", "", "change, 95 %", "")
    return table_of(titles, rows, label="The parts of both accounts")


def _bars(node: ComparedNode, longest_s: float) -> Html:
    """Return the time before above the time after, on one scale."""
    widths = [
        100 * each / longest_s if longest_s else 0.0 for each in (node.before_s, node.after_s)
    ]
    return element(
        "svg",
        element("rect", width=round(widths[0], 2), height=5, class_="bar-before"),
        element("rect", y=6, width=round(widths[1], 2), height=5, class_="bar-after"),
        class_=f"both k-{KINDS.get(node.name, 'frame')}",
        viewBox="0 0 100 11",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def _findings(findings: tuple[Finding, ...]) -> Html:
    return join(*(_line(words.finding_text(finding)) for finding in findings))


def _side(side: ComparedSide, unit: str) -> Html:
    diagnosis = side.diagnosis
    found = ", ".join(finding.cause for finding in diagnosis.findings)
    return join(
        element("p", sentence(words.side_text(side, unit)), class_="lead"),
        _line(diagnosis.headline),
        _line(f"found: {found}") if found else Html(""),
    )
