"""The time account as an icicle: every node as wide as its time, below the one it is a part of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quickfit import units
from quickfit.findings import AccountNode, Finding, Location
from quickfit.report import _sentences as sentences
from quickfit.report import text
from quickfit.report.page.markup import Html, Rules, element, join, sentence, table_of

# Below this share of the run a node cannot be seen, drilled down or not.
MIN_SHARE = 2e-4
MAX_NODES = 500
# What the time of a node is spent on, for its colour. Others have that of their parent.
KINDS = {
    "step": "compute",
    "logs": "compute",
    "input_wait": "input",
    "data": "input",
    "callbacks": "python",
    "epoch_callbacks": "python",
    "between": "python",
    "other": "python",
    "copies": "python",
    "looks": "look",
    "validation": "look",
    "evaluating": "look",
    "predicting": "look",
    "calling": "look",
    "tracing": "build",
    "setup": "build",
    "model": "build",
    "checkpoint": "save",
    "saving": "save",
    "kernel": "compute",
    "run": "frame",
    "loop": "frame",
    "before_training": "frame",
    "between_loops": "frame",
    "after_training": "frame",
    "imports": "frame",
}
LEGEND = {
    "compute": "the step itself",
    "input": "input",
    "python": "Python, callbacks",
    "build": "tracing, building",
    "look": "validation, predictions",
    "save": "saving",
    "frame": "the rest",
}


@dataclass
class Placed:
    """A node with its place: `left` and `width` are shares of the run."""

    node: AccountNode
    parent: int
    depth: int
    left: float
    width: float
    kind: str
    finding: str = ""


def place_nodes(root: AccountNode, findings: Sequence[Finding]) -> list[Placed]:
    """Return the nodes of an account that can be seen, parents first, with their places."""
    placed: list[Placed] = []
    _add(Placed(root, -1, 0, 0.0, 1.0, "frame"), placed)
    if len(placed) > MAX_NODES:
        least = sorted((one.width for one in placed), reverse=True)[MAX_NODES]
        placed = _without_small(placed, least)
    _mark_findings(placed, findings)
    return placed


def _add(one: Placed, placed: list[Placed]) -> None:
    """Add a node, and below it those of its parts that can be seen."""
    number, left, parts = len(placed), one.left, one.node.children
    placed.append(one)
    # Parts that were measured apart from each other may be a little more than the whole.
    whole_s = max(one.node.seconds, sum(part.seconds for part in parts))
    for part in parts:
        width = one.width * part.seconds / whole_s if whole_s else 0.0
        kind = KINDS.get(part.name, one.kind)
        if width >= MIN_SHARE:
            _add(Placed(part, number, one.depth + 1, left, width, kind), placed)
        left += width


def _without_small(placed: list[Placed], least: float) -> list[Placed]:
    kept: dict[int, int] = {}
    result: list[Placed] = []
    for number, one in enumerate(placed):
        if one.width > least and (one.parent < 0 or one.parent in kept):
            kept[number] = len(result)
            one.parent = kept.get(one.parent, -1)
            result.append(one)
    return result


def _mark_findings(placed: list[Placed], findings: Sequence[Finding]) -> None:
    """Give each finding's number to the node that it claims, the nearest to its line."""
    for number, finding in enumerate(findings, start=1):
        mine = [
            one
            for one in placed
            if one.node.name in finding.claims
            and (not finding.loop or not one.node.loop or one.node.loop == finding.loop)
        ]
        if mine:
            best = max(mine, key=lambda one: (one.node.where == finding.where, one.width))
            best.finding = best.finding or str(number)


def draw_icicle(placed: Sequence[Placed], rules: Rules) -> Html:
    """Return the icicle, with what it says of the node that is chosen below it."""
    depth = max(one.depth for one in placed) + 1
    nodes = [_draw_node(number, one, placed, rules) for number, one in enumerate(placed)]
    kinds = {one.kind for one in placed}
    legend = [
        element("li", element("i", class_=f"dot k-{kind}"), label)
        for kind, label in LEGEND.items()
        if kind in kinds
    ]
    return join(
        element("ul", *legend, class_="legend", aria_label="Colours"),
        element(
            "div",
            *nodes,
            class_=f"icicle d{depth}",
            id="icicle",
            role="tree",
            aria_label="Where the time of the run went",
        ),
        element("div", class_="node-detail", id="node-detail", aria_live="polite"),
        element(
            "p",
            "Click a part, or move with the arrow keys and press Enter, to look into it; Escape"
            " goes back.",
            class_="hint screen-only",
        ),
        _table(placed),
    )


def _draw_node(number: int, one: Placed, placed: Sequence[Placed], rules: Rules) -> Html:
    node = one.node
    label = text.one_line(node.label)
    share, time = units.share(node.share), units.seconds(node.seconds)
    spoken = ", ".join(filter(None, [label, time, share, sentences.place(node.where)]))
    place = rules.place(left=100 * one.left, width=100 * one.width)
    badge = [element("b", one.finding, class_="badge")] if one.finding else []
    return element(
        "div",
        *badge,
        element("span", sentence(label), class_="label"),
        element("span", time, class_="time"),
        class_=f"node k-{one.kind} r{one.depth} {place}",
        role="treeitem",
        tabindex="0" if not number else "-1",
        aria_level=str(one.depth + 1),
        aria_label=f"{spoken}, finding {one.finding}" if one.finding else spoken,
        aria_selected="false",
        title=spoken,
        data_node=str(number),
    )


def node_facts(placed: Sequence[Placed]) -> list[dict[str, object]]:
    """Return what the page's script needs of each node: its place, and what to say of it."""
    return [
        {
            "parent": one.parent,
            "key": f"{one.node.name} {one.node.loop} {sentences.place(one.node.where)}",
            "left": round(one.left, 6),
            "width": round(one.width, 6),
            "label": text.one_line(one.node.label),
            "facts": [list(fact) for fact in _facts(one.node)],
            "code": text.one_line(one.node.where.text.strip()) if one.node.where else "",
            "finding": one.finding,
        }
        for one in placed
    ]


def _facts(node: AccountNode) -> list[tuple[str, str]]:
    facts = [("time", units.seconds(node.seconds)), ("of the run", units.share(node.share))]
    if node.high_s - node.low_s > 0.02 * node.seconds:
        between = f"{units.seconds(node.low_s)} to {units.seconds(node.high_s)}"
        facts.append(("measured", between))
    if node.count > 1:
        each = units.seconds(node.seconds / node.count)
        facts.append(("times", f"{units.count(node.count)}, {each} each"))
    if node.where is not None:
        facts.append(("line", sentences.place(node.where)))
    if node.limited_by:
        facts.append(("limited by", text.prose(node.limited_by)))
    if node.detail:
        facts.append(("by", text.prose(node.detail)))
    return facts


def place_of(where: Location | None) -> Html:
    """Return a place as code, or nothing."""
    place = sentences.place(where)
    return element("code", place) if place else Html("")


def _table(placed: Sequence[Placed]) -> Html:
    """Return the same as a table, for those who would rather read or copy it."""
    rows = [
        (
            element(
                "span", sentence(text.one_line(one.node.label)), class_=f"in{min(one.depth, 6)}"
            ),
            join(units.seconds(one.node.seconds)),
            join(units.share(one.node.share)),
            place_of(one.node.where),
        )
        for one in placed
    ]
    table = table_of(("", "time", "share", "line"), rows, label="The account as a table")
    return element("details", element("summary", "The same as a table"), table)
