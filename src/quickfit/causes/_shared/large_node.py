"""A large node of the account that no cause explains: when it is reported, what it may gain."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from quickfit import units
from quickfit.account import loop_account, time_account
from quickfit.account.planned import planned_run_s, planned_weight
from quickfit.code.lines import outermost_loop
from quickfit.findings import AccountNode, Evidence, Finding, Gain, Location
from quickfit.signals import Signals
from quickfit.signals.compiling import delay_between

# A node is reported from a tenth of the run on, and from a twentieth if that is over a minute.
MIN_SHARE, LONG_SHARE, LONG_S = 0.10, 0.05, 60.0
# What comes once and takes less than this is not worth a change, however short the run.
ONCE_WORTH_S = 2.0
# Parts of a run that every run has, and that say more about the machine than about the script.
NOT_OWN = ("imports", "interpreter_start", "interpreter_exit")
# Parts of a loop that come once in it.
ONCE = ("shuffle_fill", "first_batch")
# What parts of loops that do not train claim.
OTHER_LOOP = {"step": "looking_loop", "checkpoint": "saving"}
# What a script may do between two loops that is no Python of its own.
NOT_PYTHON = (
    "imports",
    "model",
    "tracing",
    "iterator_ends",
    "evaluating",
    "predicting",
    "calling",
    "saving",
)
# What a change may take away of it: a little, half, all.
REMOVED = (0.1, 0.5, 1.0)


def loop_part(signals: Signals, name: str) -> AccountNode | None:
    """Return a part of the loop that `signals` are about; None where it has none."""
    node = loop_account(signals)
    children = node.children if node is not None else ()
    return next((child for child in children if child.name == name), None)


def run_part(signals: Signals, name: str) -> AccountNode | None:
    """Return a part of the run outside its loops; None where it has none."""
    root = time_account(signals)
    children = root.children if root is not None else ()
    return next((child for child in children if child.name == name), None)


def own_python_between_s(signals: Signals) -> float:
    """Return how long the script's own Python took between the loops, as samples saw it."""
    node = run_part(signals, "between_loops")
    parts = node.children if node is not None else ()
    lines = [line for p in parts if p.name not in NOT_PYTHON for line in p.children]
    own = [line for line in lines if line.where is not None]
    loops = {loop.location.line for loop in signals.loops if loop.location is not None}
    return sum(line.seconds for line in own if line.where and line.where.line not in loops)


def share_of_run(signals: Signals, node: AccountNode, *, low: bool = False) -> float:
    """Return what share of the run a part of its loop is, had the run gone on as planned.

    What comes once in a loop (a buffer that fills, a first batch) does not grow with it.

    Args:
        signals: about the loop.
        node: the part.
        low: as little as it may have been.
    """
    loop = loop_account(signals)
    if loop is None or not loop.seconds:
        return 0.0
    once_s = sum(child.seconds for child in node.children if child.name in ONCE)
    again_s = max((node.low_s if low else node.seconds) - once_s, 0.0)
    return again_s / loop.seconds * planned_weight(signals) + once_s / planned_run_s(signals)


def is_large(share: float, seconds: float) -> bool:
    """Tell whether a part of the run is large enough to have a name."""
    return share >= MIN_SHARE or (share >= LONG_SHARE and seconds >= LONG_S)


def finding_of_loop(
    signals: Signals,
    node: AccountNode,
    summary: str,
    where: Location | None,
    evidence: Iterable[Evidence],
) -> Finding | None:
    """Return a finding about a part of the loop; None where the part is not large for certain.

    The cost of a loop that does not train is a share of the whole run.
    """
    loop = loop_account(signals)
    if loop is not None and not signals.loop.trains:
        claim = OTHER_LOOP.get(node.name, node.name)
        return finding_of_run(signals, (node,), claim, summary, where, evidence)
    if loop is None or not is_large(share_of_run(signals, node, low=True), node.low_s):
        return None
    share = min(node.seconds / loop.seconds, 1.0)
    # What it gains is said of the loop; ranking weighs the loop in the run.
    return Finding(
        summary=summary,
        where=where,
        evidence=tuple(evidence),
        gain=gain_without(share),
        cost_share=share,
        claims=(node.name,),
        is_of_whole=True,
    )


def finding_of_run(
    signals: Signals,
    nodes: Iterable[AccountNode],
    claim: str,
    summary: str,
    where: Location | None,
    evidence: Iterable[Evidence],
) -> Finding | None:
    """Return a finding about parts of the run outside its loops; None where they are not large."""
    root, parts = time_account(signals), tuple(nodes)
    if root is None:
        return None
    seconds, low_s = sum(node.seconds for node in parts), sum(node.low_s for node in parts)
    # Imports take longer beside other programs, and are no time that a script can save.
    own_s = planned_run_s(signals)
    own_s -= sum(node.seconds for node in root.walk() if node.name in NOT_OWN)
    if low_s < ONCE_WORTH_S or not is_large(low_s / max(own_s, low_s), low_s):
        return None
    share = min(seconds / root.seconds, 1.0)
    return Finding(
        summary=summary,
        where=where,
        evidence=tuple(evidence),
        gain=gain_without(share),
        cost_share=share,
        claims=(claim,),
        is_of_whole=True,
        cost_s=seconds,
    )


def finding_around_training(
    signals: Signals, name: str, normal: Iterable[str], summary: str
) -> Finding | None:
    """Return a finding about what a script does before or after its training.

    Args:
        signals: of the run.
        name: `before_training` or `after_training`.
        normal: kinds of work that every script does there.
        summary: what is said of it.
    """
    node = run_part(signals, name)
    parts = [c for c in node.children if c.name not in normal] if node is not None else []
    if node is None or not parts:
        return None
    calls = next((child for child in node.children if child.name == "calling"), None)
    if calls is not None and "calling" in normal:
        parts += _calls_in_loop_of(signals, parts[0], calls)
    largest = max(parts, key=lambda part: part.seconds)
    # Standing in line for a core is no work of the script. The rest of the run is as much longer.
    if sum(part.low_s for part in parts) * (1 - _delay_around(signals, name)) < ONCE_WORTH_S:
        return None
    line = line_evidence(largest)
    evidence = [
        share_evidence(signals, sum(part.seconds for part in parts)),
        time_evidence(largest, f"in {largest.label} {node.label}"),
        *([line] if line is not None else []),
    ]
    return finding_of_run(signals, parts, name, summary, largest.where, evidence)


def _delay_around(signals: Signals, name: str) -> float:
    """Return for which share of the time before or after training the script had no core."""
    loops = [loop for loop in signals.loops if loop.trains] or [signals.loop]
    at = [float(row["at_s"]) for row in signals.recorded_process.rows("machine")]
    if not at:
        return 0.0
    if name == "before_training":
        return delay_between(signals, at[0], min(loop.entered_s for loop in loops))
    return delay_between(signals, max(loop.end_s for loop in loops), at[-1])


def _calls_in_loop_of(
    signals: Signals, python: AccountNode, calls: AccountNode
) -> list[AccountNode]:
    """Return the calls of the model from the script's loop that large Python is in.

    One turn after the other they are a part of it. A call of the model by itself is no overhead.
    """
    where, root = python.where, time_account(signals)
    if where is None or root is None or not is_large(python.low_s / root.seconds, python.low_s):
        return []
    first, last = outermost_loop(signals.source_text(where.file), where.line)
    inside = [
        line
        for line in calls.children
        if line.where is not None
        and line.where.file == where.file
        and first <= line.where.line <= last
    ]
    if not inside:
        return []
    seconds, low_s = sum(line.seconds for line in inside), sum(line.low_s for line in inside)
    place = max(inside, key=lambda line: line.seconds).where
    return [
        dataclasses.replace(
            calls, seconds=seconds, low_s=low_s, where=place, children=tuple(inside)
        )
    ]


def gain_without(share: float) -> Gain:
    """Return what it gains to do less of something that takes a share of the time, or none."""
    low, likely, high = (1 / max(1 - share * part, 0.02) for part in REMOVED)
    return Gain(low, likely, high, "a tenth, half or all of this time goes away")


def time_evidence(node: AccountNode, what: str) -> Evidence:
    """Return the seconds of a node as evidence."""
    often = f"{node.count} times" if node.count > 1 else ""
    return Evidence(what, node.seconds, "s", node.detail or often, node.where)


def share_evidence(signals: Signals, seconds: float) -> Evidence:
    """Return what share of the whole run some seconds are, as evidence."""
    root = time_account(signals)
    total_s = root.seconds if root is not None else seconds
    share = min(seconds / total_s, 1.0) if total_s else 0.0
    return Evidence("of the whole run", share, "share", f"of {units.seconds(total_s)}")


def line_evidence(node: AccountNode) -> Evidence | None:
    """Return the largest line below a node as evidence; None where no line was seen."""
    lines = [child for child in node.children if child.where is not None]
    if not lines or not node.seconds:
        return None
    line = max(lines, key=lambda child: child.seconds)
    share = min(line.seconds / node.seconds, 1.0)
    return Evidence("of it at one line", share, "share", line.detail or node.detail, line.where)
