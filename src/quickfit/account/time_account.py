"""The time account of a run: one tree from its start to its end in which every second is once."""

from __future__ import annotations

import dataclasses

from quickfit.account.around_nodes import around_node
from quickfit.account.loop_nodes import loop_node
from quickfit.account.step_parts import ITERATOR_ENDS
from quickfit.account.timeline import Gap, Timeline, timeline
from quickfit.findings import AccountNode
from quickfit.signals import Signals
from quickfit.signals.steps import calls_s


def time_account(signals: Signals) -> AccountNode | None:
    """Return where the time of a run went; None for a recording without a clock."""
    # Causes ask for it one after the other, about one loop and about another.
    if "time_account" not in signals.shared:
        signals.shared["time_account"] = _time_account(signals)
    found: AccountNode | None = signals.shared["time_account"]
    return found


def loop_account(signals: Signals) -> AccountNode | None:
    """Return the node of the loop that `signals` are about; None where it owns no time."""
    root = time_account(signals)
    nodes = root.children if root is not None and signals.loops else ()
    return next((node for node in nodes if node.loop == signals.loop.id), None)


def _time_account(signals: Signals) -> AccountNode | None:
    line = timeline(signals)
    if line is None or line.total_s <= 0:
        return None
    children = [*_around(signals, line), *_loops(signals, line)]
    for name, label, seconds in (
        ("interpreter_start", "starting Python", line.start_s),
        ("interpreter_exit", "ending Python", line.exit_s),
    ):
        if seconds > 0:
            children.append(AccountNode(name, label, seconds, seconds, seconds, 0.0))
    total_s = line.total_s
    order = {name: place for place, name in enumerate(_ORDER)}
    children.sort(key=lambda node: order.get(node.name, order["loop"]))
    root = AccountNode(
        "run", "the run", total_s, total_s, total_s, 1.0, 1, children=tuple(children)
    )
    return _with_shares(root, total_s)


_ORDER = (
    *("interpreter_start", "script", "before_training", "loop", "between_loops"),
    *("after_training", "interpreter_exit"),
)


def _around(signals: Signals, line: Timeline) -> list[AccountNode]:
    if not line.spans:
        node = around_node(signals, line.gaps, "script", "the script, without training")
        return [node] if node is not None else []
    groups: dict[str, list[Gap]] = {
        "before_training": [],
        "between_loops": [],
        "after_training": [],
    }
    training = {loop.id for loop in signals.loops if loop.trains} or {
        loop.id for loop in signals.loops
    }
    first = next((n for n, span in enumerate(line.spans) if span.loop in training), 0)
    first_s = line.spans[first].begin_s
    last_s = max((s.end_s for s in line.spans if s.loop in training), default=line.spans[-1].end_s)
    for gap in line.gaps:
        is_before, is_after = gap.end_s <= first_s, gap.begin_s >= last_s
        name = "before_training" if is_before else "after_training" if is_after else "between_loops"
        groups[name].append(gap)
    labels = {
        "before_training": "before training",
        "between_loops": _between_label(groups["between_loops"]),
        "after_training": "after training",
    }
    nodes = [around_node(signals, gaps, name, labels[name]) for name, gaps in groups.items()]
    ends_s = sum(
        calls_s(signals.process, loop.id, ("end",)) for loop in signals.loops if loop.kind != "fit"
    )
    return [_with_iterator_ends(node, ends_s) for node in nodes if node is not None]


def _with_iterator_ends(node: AccountNode, ends_s: float) -> AccountNode:
    """Return time between loops with the ends of their iterators apart from the script's Python.

    To a sample, an iterator that ends is the `for` line of the script.
    """
    other = next((child for child in node.children if child.name == "other"), None)
    taken_s = min(ends_s, other.seconds) if other is not None else 0.0
    if node.name != "between_loops" or other is None or taken_s <= 0:
        return node
    left_s = other.seconds - taken_s
    ends = AccountNode(
        "iterator_ends", ITERATOR_ENDS, taken_s, taken_s, taken_s, 0.0, where=other.where
    )
    scale = left_s / other.seconds
    lines = tuple(
        dataclasses.replace(
            line, seconds=line.seconds * scale, low_s=line.low_s * scale, high_s=line.high_s * scale
        )
        for line in other.children
    )
    rest = dataclasses.replace(
        other, seconds=left_s, low_s=max(other.low_s - taken_s, 0.0), high_s=left_s, children=lines
    )
    children = [child for child in node.children if child is not other]
    known = next((child for child in children if child.name == ends.name), None)
    if known is not None:
        children.remove(known)
        ends = dataclasses.replace(
            known,
            seconds=known.seconds + taken_s,
            low_s=known.low_s + taken_s,
            high_s=known.high_s + taken_s,
        )
    children += [ends, *([rest] if left_s > 0 else [])]
    children.sort(key=lambda child: child.seconds, reverse=True)
    return dataclasses.replace(node, children=tuple(children))


def _between_label(gaps: list[Gap]) -> str:
    is_one_loop = all(gap.after == gap.before for gap in gaps)
    return "between the calls of the loop" if is_one_loop else "between loops"


def _loops(signals: Signals, line: Timeline) -> list[AccountNode]:
    known = {loop.id: loop for loop in signals.loops}
    nodes = []
    for number in dict.fromkeys(span.loop for span in line.spans):
        if number in known:
            spans = [span for span in line.spans if span.loop == number]
            nodes.append(loop_node(signals.about(known[number]), spans))
    return nodes


def _with_shares(node: AccountNode, total_s: float) -> AccountNode:
    return dataclasses.replace(
        node,
        share=node.seconds / total_s,
        children=tuple(_with_shares(child, total_s) for child in node.children),
    )
