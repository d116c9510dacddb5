"""What a cache of the pipeline did: was it filled in every pass, or read?"""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.pipeline_model.match import Operation
from quickfit.pipeline_model.snapshot import Snapshot
from quickfit.pipeline_model.stages import kind_of
from quickfit.signals import Signals
from quickfit.signals.input import Stage, snapshots_of, training_iterators
from quickfit.signals.written_chain import below, main_line, stages_of, written


@dataclass(frozen=True)
class CacheUse:
    """What a cache of the pipeline did in the passes that were looked at.

    Args:
        written: passes after the first in which elements still went into it.
        read: passes in which it gave what it held.
        most: the most elements that went through it in one pass, as far as was seen.
        saved: the stages before it, which work whenever it is written.
        size: the elements of one pass over what feeds it; zero if unknown.
        endless: what a `repeat` without end before it repeats, once that has come round.
        taken: the `take` that reads from it.
    """

    operation: Operation
    written: int
    read: int
    most: int
    saved: tuple[Stage, ...]
    size: int = 0
    endless: Operation | None = None
    taken: Operation | None = None


def cache_use(signals: Signals) -> CacheUse | None:
    """Return what the pipeline's last cache did; None without one."""
    top, known = written(signals)
    line = main_line(top, known) if top is not None else []
    cache = next((op for op in line if op.kind == "cache"), None)
    if cache is None:
        return None
    series = snapshots_of(signals.process, signals.loop.id)
    datasets = training_iterators(signals.process, signals.loop.id)
    # A pipeline that is built anew has a new cache; that is another story.
    same = [n for n in sorted(series) if datasets[n] == datasets[max(series)]]
    counts = {"written": 0, "read": 0}
    most = 0
    for place, number in enumerate(same):
        states = [state for snapshot in series[number] if (state := _state(snapshot))]
        most = max([most, *(elements for _, elements in states)])
        if any(name == "read" for name, _ in states):
            counts["read"] += 1
        elif states and place:
            counts["written"] += 1
    saved = stages_of(signals.stages, below(cache, known), without={cache.id: cache})
    endless = _endless(cache, known, most)
    source = endless or known.get(cache.inputs[0] if cache.inputs else 0)
    return CacheUse(
        cache,
        counts["written"],
        counts["read"],
        most,
        tuple(saved),
        size=_size(source) if source is not None else 0,
        endless=endless,
        taken=_take_behind(cache, line),
    )


def _size(operation: Operation) -> int:
    return max(int(operation.facts.get("cardinality") or 0), 0)


def _endless(cache: Operation, known: dict[int, Operation], most: int) -> Operation | None:
    for operation in main_line(cache, known)[1:]:
        is_endless = operation.kind == "repeat" and operation.facts.get("cardinality") == -1
        if is_endless and operation.inputs and operation.inputs[0] in known:
            repeated = known[operation.inputs[0]]
            return repeated if 0 < _size(repeated) < most else None
    return None


def _take_behind(cache: Operation, line: list[Operation]) -> Operation | None:
    """Return the `take` that reads from a cache, if nothing that matters lies between."""
    for operation in reversed(line[: line.index(cache)]):
        if operation.kind == "take":
            return operation
        if operation.kind not in ("options", "prefetch"):
            return None
    return None


def _state(snapshot: Snapshot) -> tuple[str, int] | None:
    """Return whether a cache is written or read at a moment, and how far it came."""
    for node in snapshot.nodes.values():
        is_second = node.name.startswith(("MemoryCacheImpl", "FileCacheImpl"))
        if is_second and kind_of(node.name) == "cache" and node.elements:
            is_fed = any(number in snapshot.nodes for number in node.inputs)
            return ("written" if is_fed else "read"), node.elements
    return None
