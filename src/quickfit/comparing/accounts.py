"""The accounts of two runs, node by node: which part takes longer, by how much, and how surely."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from quickfit.comparing.pace import RUN_SPREAD
from quickfit.findings import AccountNode, ComparedNode, Diagnosis, Interval
from quickfit.lab.statistics import NORMAL_95

# What is done once, such as imports and tracing, was seen once in each run.
ONCE_SPREAD = 0.10
# Parts of a loop that do not come with its steps.
ONCE = frozenset(("tracing", "setup", "first_step", "epoch_start", "fit_calls"))
# Below this share of both runs a node is not shown.
MIN_SHARE = 0.01
MAX_DEPTH = 4
# A change of less than this share of what its whole takes is none, where it is known so well.
MIN_CHANGE = 0.02
# What a label counts differs from run to run: `traced 3 times`.
_COUNTS = re.compile(r"\d[\d,.]*")

Key = tuple[str, ...]


@dataclass(frozen=True)
class _Row:
    """A node as one run has it, for one step of its loop or for the run."""

    node: AccountNode
    seconds: float
    half_s: float
    depth: int
    unit: str


@dataclass
class _Account:
    """The nodes of one run by their keys, and what a step and the run take in all."""

    rows: dict[Key, _Row] = field(default_factory=dict)


def compare_accounts(
    before: Diagnosis, after: Diagnosis, halves: tuple[float, float]
) -> tuple[ComparedNode, ...]:
    """Return the parts of two accounts that are worth showing, in the order of the second one.

    Args:
        before: the first run, with details.
        after: the second one, with details.
        halves: how well the pace of each is known, as a share.
    """
    both = (_account(before, halves[0]), _account(after, halves[1]))
    found = [_compared(key, both) for key in _merged(both)]
    return tuple(node for node in found if node is not None)


def _account(diagnosis: Diagnosis, half: float) -> _Account:
    account = _Account()
    if diagnosis.account is not None:
        _add(diagnosis.account, (), _steps_of_loops(diagnosis), 0, half, account)
    return account


def _steps_of_loops(diagnosis: Diagnosis) -> dict[int, int]:
    steps: dict[int, int] = {}
    for point in diagnosis.details.points if diagnosis.details is not None else ():
        steps[point.loop] = steps.get(point.loop, 0) + point.steps
    return steps


def _add(
    node: AccountNode,
    key: Key,
    steps: Mapping[int, int],
    count: int,
    half: float,
    account: _Account,
) -> None:
    """Add the parts of a node; `count` is how many steps its loop has, 0 where it counts once."""
    seen: dict[str, int] = {}
    names = [child.name for child in node.children]
    for child in node.children:
        inside = steps.get(child.loop, 0) if child.name == "loop" else count
        inside = 0 if child.name in ONCE else inside
        label = "" if names.count(child.name) == 1 else _COUNTS.sub("#", child.label)
        own = f"{child.name} {label}"
        seen[own] = seen.get(own, 0) + 1
        path = (*key, f"{own} {seen[own]}")
        each = max(inside, 1)
        spread = math.hypot(half, NORMAL_95 * (RUN_SPREAD if inside else ONCE_SPREAD))
        measured_s = max(child.high_s - child.low_s, 0.0) / 2
        half_s = math.hypot(spread * child.seconds, measured_s) / each
        unit = "step" if inside else "run"
        account.rows[path] = _Row(child, child.seconds / each, half_s, len(key), unit)
        if len(path) < MAX_DEPTH:
            _add(child, path, steps, inside, half, account)


def _merged(both: tuple[_Account, _Account]) -> Iterator[Key]:
    """Yield the keys of both, parents first; what only the first has comes after its siblings."""
    keys = [*both[1].rows, *(key for key in both[0].rows if key not in both[1].rows)]

    def below(parent: Key) -> Iterator[Key]:
        for key in keys:
            if key[:-1] == parent:
                yield key
                yield from below(key)

    yield from below(())


def _compared(key: Key, both: tuple[_Account, _Account]) -> ComparedNode | None:
    rows = [account.rows.get(key) for account in both]
    shown = rows[1] or rows[0]
    assert shown is not None
    if max(row.node.share for row in rows if row is not None) < MIN_SHARE:
        return None
    first, second = ((row.seconds, row.half_s) if row else (0.0, 0.0) for row in rows)
    if rows[0] is not None and rows[1] is not None and rows[0].unit != rows[1].unit:
        return None  # a loop without steps in one of them
    change, half = second[0] - first[0], math.hypot(first[1], second[1])
    span = Interval(change - half, change, change + half)
    whole = max(first[0], second[0])
    return ComparedNode(
        shown.node.name,
        shown.node.label,
        shown.depth,
        shown.unit,
        first[0],
        second[0],
        span,
        _state(span, whole),
        shown.node.where,
    )


def _state(change: Interval, whole_s: float) -> str:
    if change.low > 0:
        return "grew"
    if change.high < 0:
        return "shrank"
    is_small = max(abs(change.low), abs(change.high)) <= max(MIN_CHANGE, 4 * RUN_SPREAD) * whole_s
    return "same" if is_small else "unsure"
