"""The account of a profile: the time of every device, by what it did and why it did nothing."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from quickfit import units
from quickfit.findings import AccountNode
from quickfit.recording.reader import ProcessRecording

# Operations that have a node of their own; the others of their kind share one.
MAX_NAMES = 8
KINDS = {
    "kernel": "kernels",
    "communication": "communication between GPUs",
    "copy": "copies",
    "memset": "filling memory",
}

Row = dict[str, Any]  # as the reader hands them out


def device_account(process: ProcessRecording) -> AccountNode | None:
    """Return where the time of the profiled devices went; None where there are none.

    Several devices add up: two that were watched for a second each are an account of two seconds.
    """
    used = [row for row in process.rows("device_use") if row["end_s"] > row["begin_s"]]
    total_s = sum(row["end_s"] - row["begin_s"] for row in used)
    if total_s <= 0:
        return None
    nodes = tuple(_device(process, row, total_s) for row in used)
    if len(nodes) == 1:
        # One device needs no node around it.
        nodes = nodes[0].children
    return _node("profile", "the profiled devices", total_s, total_s, children=nodes)


def _device(process: ProcessRecording, used: Row, total_s: float) -> AccountNode:
    name, window_s = used["device"], used["end_s"] - used["begin_s"]
    work = [row for row in process.rows("device_work") if row["device"] == name]
    idle = [row for row in process.rows("device_idle") if row["device"] == name]
    idle_s = sum(row["total_s"] for row in idle)
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in work:
        kinds[row["kind"]].append(row)
    nodes = [_kind(kind, rows, total_s) for kind, rows in kinds.items()]
    if idle_s > 0:
        nodes.append(_idle(idle, idle_s, total_s))
    nodes.sort(key=lambda node: node.seconds, reverse=True)
    return _node("device", name, window_s, total_s, children=tuple(nodes))


def _kind(kind: str, rows: list[Row], total_s: float) -> AccountNode:
    rows = sorted(rows, key=lambda row: row["alone_s"], reverse=True)
    children = [
        _node(
            "operation",
            row["name"],
            row["alone_s"],
            total_s,
            count=row["count"],
            detail=_beside(row),
        )
        for row in rows[:MAX_NAMES]
    ]
    rest = rows[MAX_NAMES:]
    if rest:
        seconds, count = sum(r["alone_s"] for r in rest), sum(r["count"] for r in rest)
        label = f"{len(rest)} others"
        children.append(_node("operations", label, seconds, total_s, count=count))
    seconds, count = sum(r["alone_s"] for r in rows), sum(r["count"] for r in rows)
    label = KINDS.get(kind, kind)
    return _node(kind, label, seconds, total_s, count=count, children=tuple(children))


def _beside(row: Row) -> str:
    """Say how long an operation took in all, where something else ran beside it."""
    if row["total_s"] <= 1.01 * row["alone_s"]:
        return ""
    return f"{units.seconds(row['total_s'])} in all; the rest ran beside something else"


def _idle(rows: list[Row], idle_s: float, total_s: float) -> AccountNode:
    reasons: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        reasons[row["reason"]].append(row)
    nodes = []
    for reason, mine in reasons.items():
        mine.sort(key=lambda row: row["total_s"], reverse=True)
        details = [
            _node("idle_detail", row["detail"], row["total_s"], total_s, count=row["count"])
            for row in mine[:MAX_NAMES]
        ]
        rest = mine[MAX_NAMES:]
        if rest:
            rest_s, times = sum(r["total_s"] for r in rest), sum(r["count"] for r in rest)
            label = f"{len(rest)} others"
            details.append(_node("idle_detail", label, rest_s, total_s, count=times))
        seconds, count = sum(r["total_s"] for r in mine), sum(r["count"] for r in mine)
        node = _node("idle_reason", reason, seconds, total_s, count=count, children=tuple(details))
        nodes.append(node)
    nodes.sort(key=lambda node: node.seconds, reverse=True)
    count = sum(row["count"] for row in rows)
    return _node("idle", "idle", idle_s, total_s, count=count, children=tuple(nodes))


def _node(
    name: str,
    label: str,
    seconds: float,
    total_s: float,
    *,
    count: int = 0,
    detail: str = "",
    children: tuple[AccountNode, ...] = (),
) -> AccountNode:
    share = seconds / total_s
    return AccountNode(
        name, label, seconds, seconds, seconds, share, count, detail=detail, children=children
    )
