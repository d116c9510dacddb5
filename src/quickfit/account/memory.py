"""The memory account: what the process held when it held most, by what holds it.

The parts add up to the memory in use as the system counts it. What is counted comes first: names
of the script, buffers and caches of the input; then what is known by growth: models and graphs.
What was in use before the first loop, less what names of the script held then, is libraries. The
rest is memory of TensorFlow that is not counted: weights, activations, pools.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from quickfit.errors import SignalMissing
from quickfit.findings import Location, MemoryAccount, MemoryGrowth, MemoryNode, MemoryPoint
from quickfit.pipeline_model.snapshot import Node, Snapshot
from quickfit.signals import Signals
from quickfit.signals.caching import MEMORY_CACHE, cache_bytes
from quickfit.signals.holders import Holder, holder_growth, holders_of
from quickfit.signals.input import snapshots_of
from quickfit.signals.leak_kinds import Rounds, is_growing, model_rounds
from quickfit.signals.memory import memory_limit

LABELS = {
    "libraries": "code, libraries and what was set up before training",
    "script": "held by names of the script",
    "input": "buffers and caches of the input",
    "models": "models of the rounds before",
    "graphs": "graphs that traces left",
    "rest": "weights, activations and the pools of TensorFlow",
}
# A name or a stage that holds less is not listed.
MIN_PART_BYTES = 1_000_000

Value = TypeVar("Value")
Row = dict[str, Any]  # as the reader hands them out


def memory_account(signals: Signals) -> MemoryAccount | None:
    """Return what the process held at its peak; None where the system does not tell."""
    rows = [row for row in signals.process.rows("machine") if row["rss_bytes"] is not None]
    if not rows:
        return None
    peak = max(rows, key=lambda row: row["rss_bytes"])
    total, at_s = float(peak["rss_bytes"]), peak["at_s"]
    names = _script(signals, at_s)
    wanted = [
        MemoryNode("script", LABELS["script"], _sum(names), 0.0, parts=tuple(names)),
        _input(signals, at_s),
        _models(signals),
        _graphs(signals),
        # Last, because memory that was used and freed before training is used again.
        _libraries(signals, rows, at_s),
    ]
    left, parts = total, []
    for node in wanted:
        if node is not None and node.bytes > 0:
            parts.append(_fitted(node, left, total))
            left -= parts[-1].bytes
    rest = MemoryNode("rest", LABELS["rest"], left, left / total)
    limit, _ = memory_limit(signals.process)
    return MemoryAccount(
        at_s=at_s,
        bytes=total,
        end_bytes=float(rows[-1]["rss_bytes"]),
        limit_bytes=limit,
        growth=_growth_of_all(signals),
        parts=tuple(sorted((*parts, rest), key=lambda node: -node.bytes)),
    )


def _fitted(node: MemoryNode, left: float, total: float) -> MemoryNode:
    """Return a node that takes no more than is left, with its shares; its parts shrink with it."""
    size = min(node.bytes, left)
    scale = size / node.bytes if node.bytes else 0.0
    parts = tuple(_fitted(part, part.bytes * scale, total) for part in node.parts)
    return MemoryNode(
        node.name,
        node.label,
        size,
        size / total,
        node.growth,
        node.where,
        node.detail,
        parts,
    )


def _sum(nodes: Sequence[MemoryNode]) -> float:
    return sum(node.bytes for node in nodes)


# -- over the run --------------------------------------------------------------------------------

# As they are stacked: what hardly changes lies at the bottom.
COURSE_PARTS = ("libraries", "rest", "models", "graphs", "input", "script")
# More readings than a page has pixels for them say no more.
MAX_READINGS = 240


def memory_course(signals: Signals, account: MemoryAccount) -> tuple[MemoryPoint, ...]:
    """Return what the process held over the run, by what holds it, as `COURSE_PARTS` order it.

    At the peak they are the parts of the account. What is known by its growth alone, models and
    graphs, is as large as the memory had grown by then.
    """
    rows = [row for row in signals.process.rows("machine") if row["rss_bytes"] is not None]
    begin_s = min((loop.entered_s for loop in signals.loops), default=rows[-1]["at_s"])
    peak = {part.name: part.bytes for part in account.parts}
    before = max((row["rss_bytes"] for row in rows if row["at_s"] <= begin_s), default=0.0)
    script, inputs = _script_course(signals), _input_course(signals)
    points = []
    for row in _thinned(rows, account.at_s):
        at_s, total = row["at_s"], float(row["rss_bytes"])
        grown = (total - before) / (account.bytes - before) if account.bytes > before else 1.0
        is_training = at_s >= begin_s
        wanted = {
            "script": _latest(script, at_s + 1.0),
            "input": _latest(inputs, at_s + 0.5),
            "models": peak.get("models", 0.0) * min(max(grown, 0.0), 1.0),
            "graphs": peak.get("graphs", 0.0) * min(max(grown, 0.0), 1.0),
            "libraries": peak.get("libraries", 0.0) if is_training else total,
        }
        left, parts = total, {}
        for name, size in wanted.items():
            parts[name] = min(size, left)
            left -= parts[name]
        parts["rest"] = left
        points.append(MemoryPoint(at_s, total, tuple(parts[name] for name in COURSE_PARTS)))
    return tuple(points)


def _thinned(rows: list[Row], peak_s: float) -> list[Row]:
    """Return at most `MAX_READINGS` readings: the highest of each stretch, and the peak."""
    size = -(-len(rows) // MAX_READINGS)
    stretches = [rows[n : n + size] for n in range(0, len(rows), size)]
    return [
        next(
            (r for r in stretch if r["at_s"] == peak_s), max(stretch, key=lambda r: r["rss_bytes"])
        )
        for stretch in stretches
    ]


def _latest(course: list[tuple[float, float]], at_s: float) -> float:
    place = bisect.bisect_right(course, at_s, key=lambda each: each[0])
    return course[place - 1][1] if place else 0.0


def _script_course(signals: Signals) -> list[tuple[float, float]]:
    held = {row["at_s"]: 0.0 for row in signals.process.rows("holders")}
    for holder in holders_of(signals):
        for when_s, size, _ in holder.looks:
            held[when_s] += size if size >= MIN_PART_BYTES else 0
    return sorted(held.items())


def _input_course(signals: Signals) -> list[tuple[float, float]]:
    caches: dict[str, float] = {}
    course = []
    for one in _known(lambda: _snapshots(signals, math.inf)) or []:
        for node in one.nodes.values():
            if node.name.startswith(MEMORY_CACHE):
                caches[node.name] = max(caches.get(node.name, 0.0), cache_bytes(node))
        sizes = [*(float(node.buffered_bytes) for node in _ready(one)), *caches.values()]
        course.append((one.at_s, sum(size for size in sizes if size >= MIN_PART_BYTES)))
    return course


# -- the script ---------------------------------------------------------------------------------


def _script(signals: Signals, at_s: float) -> list[MemoryNode]:
    """Return what names held at the look next to a moment."""
    looked_s = _last_look_s(signals, at_s)
    found = []
    for holder in holders_of(signals):
        held = [size for when_s, size, _ in holder.looks if when_s == looked_s]
        if held and held[0] >= MIN_PART_BYTES:
            found.append(_of_holder(signals, holder, held[0]))
    return sorted(found, key=lambda node: -node.bytes)


def _last_look_s(signals: Signals, at_s: float) -> float | None:
    times = sorted({row["at_s"] for row in signals.process.rows("holders")})
    # A look follows the reading that called for it.
    before = [when_s for when_s in times if when_s <= at_s + 1.0]
    return before[-1] if before else None


def _of_holder(signals: Signals, holder: Holder, held: int) -> MemoryNode:
    grown = _known(lambda: holder_growth(signals, holder))
    growth: tuple[MemoryGrowth, ...] = ()
    if grown is not None and grown.goes_on:
        mean = grown.growth.per_step or 0.0
        growth = _by_steps(signals, mean, grown.low, grown.high)
    where = f" of `{holder.scope}`" if holder.scope and holder.name.startswith("self.") else ""
    label = f"`{holder.name}`{where}"
    many = f"{holder.items:,} things, mostly {holder.content}" if holder.items > 1 else holder.kind
    return MemoryNode(holder.name, label, float(held), 0.0, growth, holder.location, many)


# -- before training ----------------------------------------------------------------------------


def _libraries(signals: Signals, rows: list[Row], at_s: float) -> MemoryNode | None:
    """Return what was in use before the first loop, less what names of the script held then."""
    entered = [loop.entered_s for loop in signals.loops]
    begin_s = min(entered, default=at_s)
    times = [row["at_s"] for row in rows]
    place = max(bisect.bisect_right(times, begin_s) - 1, 0)
    row = rows[place]
    looked_s = _last_look_s(signals, row["at_s"])
    held = sum(
        size
        for holder in holders_of(signals)
        for when_s, size, _ in holder.looks
        if when_s == looked_s
    )
    size = max(float(row["rss_bytes"]) - held, 0.0)
    files = row.get("file_bytes")
    detail = f"{files / 1e6:,.0f} MB of it are pages of files" if files else ""
    return MemoryNode("libraries", LABELS["libraries"], size, 0.0, detail=detail)


# -- the input ----------------------------------------------------------------------------------


def _input(signals: Signals, at_s: float) -> MemoryNode | None:
    """Return what the stages of the input held next to a moment, by stage."""
    seen = _known(lambda: _snapshots(signals, at_s))
    if not seen:
        return None
    places = _places(signals)
    parts = []
    # A cache is kept while the iterators that fill and read it come and go.
    caches: dict[str, Node] = {}
    for node in (node for one in seen for node in one.nodes.values()):
        known = caches.get(node.name)
        if node.name.startswith(MEMORY_CACHE) and (
            known is None or cache_bytes(node) > cache_bytes(known)
        ):
            caches[node.name] = node
    for node in (*_ready(seen[-1]), *caches.values()):
        is_cache = node.name.startswith(MEMORY_CACHE)
        size = cache_bytes(node) if is_cache else float(node.buffered_bytes)
        if size >= MIN_PART_BYTES:
            detail = f"{node.buffered or node.elements:,} elements"
            where = places.get(node.name)
            label = "`cache()` of the input" if is_cache else f"stage `{node.name}`"
            parts.append(MemoryNode(node.name, label, size, 0.0, (), where, detail))
    parts.sort(key=lambda part: -part.bytes)
    return MemoryNode("input", LABELS["input"], _sum(parts), 0.0, parts=tuple(parts))


def _ready(snapshot: Snapshot) -> list[Node]:
    """Return the stages of a pipeline that are no cache."""
    return [n for n in snapshot.nodes.values() if not n.name.startswith(MEMORY_CACHE)]


def _snapshots(signals: Signals, at_s: float) -> list[Snapshot]:
    """Return what was seen of the pipelines until a moment, the newest last."""
    series = snapshots_of(signals.process, signals.loop.id).values()
    before = [one for snapshots in series for one in snapshots if one.at_s <= at_s + 0.5]
    return sorted(before, key=lambda one: one.at_s)


def _places(signals: Signals) -> dict[str, Location | None]:
    """Return the user's line of every stage, by the name that tf.data gives it."""
    stages = _known(lambda: signals.stages) or []
    return {stage.name: stage.location for stage in stages}


# -- models, graphs, and the whole --------------------------------------------------------------


def _models(signals: Signals) -> MemoryNode | None:
    rounds = _known(lambda: model_rounds(signals))
    if rounds is None or not is_growing(rounds):
        return None
    growth = (_by_round(rounds),)
    detail = f"{rounds.rounds} rounds; known by the growth from round to round"
    left = max(rounds.grown, 0.0)
    return MemoryNode("models", LABELS["models"], left, 0.0, growth, rounds.location, detail)


def _by_round(rounds: Rounds) -> MemoryGrowth:
    high = 2 * rounds.per_round - rounds.low
    return MemoryGrowth("round", rounds.per_round, rounds.low, high)


def _graphs(signals: Signals) -> MemoryNode | None:
    leak = _known(lambda: signals.leak)
    if leak is None or leak.kind not in ("traces", "graph"):
        return None
    growth = _by_steps(signals, leak.per_step, leak.low, leak.high)
    detail = "known by the growth while functions were traced"
    return MemoryNode("graphs", LABELS["graphs"], leak.growth.total, 0.0, growth, None, detail)


def _growth_of_all(signals: Signals) -> tuple[MemoryGrowth, ...]:
    leak = _known(lambda: signals.leak)
    found: tuple[MemoryGrowth, ...] = ()
    if leak is not None and leak.what == "memory":
        found = _by_steps(signals, leak.per_step, leak.low, leak.high)
    rounds = _known(lambda: model_rounds(signals))
    if rounds is not None and is_growing(rounds):
        found = (*found, _by_round(rounds))
    return found


def _by_steps(
    signals: Signals, mean: float, low: float | None, high: float | None
) -> tuple[MemoryGrowth, ...]:
    """Return a growth by step and, where a whole epoch was seen, by epoch."""
    each = MemoryGrowth("step", mean, mean if low is None else low, mean if high is None else high)
    steps = _known(lambda: _steps_per_epoch(signals))
    if not steps:
        return (each,)
    return (each, MemoryGrowth("epoch", mean * steps, each.low * steps, each.high * steps))


def _steps_per_epoch(signals: Signals) -> float | None:
    epochs = signals.epochs
    if not epochs:
        return None
    rows = [r for r in signals.process.rows("steps") if r["loop"] == signals.loop.id]
    return sum(1 for row in rows if row["end_s"] <= epochs[-1].end_s + 0.1) / len(epochs)


def _known(ask: Callable[[], Value]) -> Value | None:
    """Return what a signal says; None where it was not measured: the account is of what was."""
    try:
        return ask()
    except SignalMissing:
        return None
