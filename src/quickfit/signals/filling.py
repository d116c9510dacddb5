"""Buffers of a pipeline that fill while steps run: a cache in memory, what autotune lets grow."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from quickfit.findings import Location
from quickfit.pipeline_model.match import Operation
from quickfit.pipeline_model.snapshot import Node, Snapshot
from quickfit.pipeline_model.stages import kind_of
from quickfit.signals._facade import Signals
from quickfit.signals.growth import Growth, Point, growth, points_of
from quickfit.signals.input import snapshots_of
from quickfit.signals.written_chain import main_line, written

# The second half of what tf.data calls a cache: this one holds its elements in memory.
MEMORY_CACHE = "MemoryCacheImpl"
# The machine is read twice a second.
MACHINE_EVERY_S = 0.5


@dataclass(frozen=True)
class FillingCache:
    """A cache in memory that is being filled.

    Args:
        held_bytes: what it holds now, in `elements` elements.
        size: how many elements it will hold; None where that is not known.
        is_endless: a `repeat` before it never ends, and so neither does the cache.
        growth: of what it holds, while the steps ran; None where it was seen too briefly.
    """

    operation: Operation
    location: Location | None
    elements: int
    held_bytes: float
    size: int | None
    is_endless: bool
    growth: Growth | None

    @property
    def element_bytes(self) -> float:
        """The mean size of an element."""
        return self.held_bytes / max(self.elements, 1)

    @property
    def to_come_bytes(self) -> float | None:
        """What it will still take; None where its size is not known."""
        return None if self.size is None else (self.size - self.elements) * self.element_bytes


@dataclass(frozen=True)
class HeldCache:
    """A cache in memory, and what its elements were made of.

    Args:
        held_bytes: the most it held, in `elements` elements.
        read_bytes: all that the process read from files meanwhile; None where that was not counted.
        source_bytes: what its source handed out to fill it, such as files that lie in memory.
    """

    operation: Operation
    location: Location | None
    held_bytes: float
    elements: int
    read_bytes: float | None
    source_bytes: float = 0.0

    @property
    def made_of_bytes(self) -> float:
        """What its elements were made of."""
        return max(self.read_bytes or 0.0, self.source_bytes)


@dataclass(frozen=True)
class GrowingBuffers:
    """What the stages of a pipeline hold ready, apart from shuffles and caches.

    Args:
        held_bytes: what they hold now.
        growth: of that, while the steps ran.
        largest: name of the stage that holds most, its line, and how many elements it holds.
        to_come_bytes: what fits into its buffer besides; None where autotune sets its size.
    """

    held_bytes: float
    growth: Growth
    largest: str
    location: Location | None
    elements: int
    to_come_bytes: float | None


def filling_cache(signals: Signals) -> FillingCache | None:
    """Return the pipeline's cache in memory while it is being filled; None without one."""
    newest = _newest(signals)
    node = _cache_node(newest[-1]) if newest else None
    if node is None or not newest:
        return None
    top, known = written(signals)
    line = main_line(top, known) if top is not None else []
    cache = next((op for op in line if op.kind == "cache"), None)
    if cache is None:
        return None
    points = [(s.at_s, cache_bytes(n)) for s in newest if (n := _cache_node(s)) is not None]
    size = _size(cache, known)
    return FillingCache(
        cache,
        signals.location(cache.file, cache.line),
        node.elements,
        cache_bytes(node),
        size if size > node.elements else None,
        size == -1,
        _growth(points, signals),
    )


def held_cache(signals: Signals) -> HeldCache | None:
    """Return the cache in memory that holds most, full or not; None without one."""
    series = snapshots_of(signals.process, signals.loop.id).values()
    seen = list(itertools.chain.from_iterable(series))
    nodes = [
        (cache_bytes(node), max(node.buffered, node.elements), snapshot.at_s)
        for snapshot in seen
        for node in snapshot.nodes.values()
        if node.name.startswith(MEMORY_CACHE) and node.elements
    ]
    top, known = written(signals)
    line = main_line(top, known) if top is not None else []
    cache = next((op for op in line if op.kind == "cache"), None)
    if cache is None or not nodes:
        return None
    held, elements, at_s = max(nodes)
    where = signals.location(cache.file, cache.line)
    read, source = _bytes_read(signals, at_s), max(map(_source_bytes, seen))
    return HeldCache(cache, where, held, elements, read, source)


def _source_bytes(snapshot: Snapshot) -> float:
    """Return what the sources of a cache that is being filled have handed out."""
    cache = _cache_node(snapshot)
    ahead = list(cache.inputs) if cache is not None else []
    total = 0.0
    while ahead:
        node = snapshot.nodes.get(ahead.pop())
        if node is not None:
            ahead += node.inputs
            total += 0.0 if node.inputs else float(node.bytes_out)
    return total


def _bytes_read(signals: Signals, at_s: float) -> float | None:
    """Return what was read from files, from the start of the loop until a moment."""
    points = points_of(signals.process.rows("machine"), "chars_read")
    before = [value for time_s, value in points if time_s <= signals.loop.entered_s]
    until = [value for time_s, value in points if time_s <= at_s + MACHINE_EVERY_S]
    return until[-1] - (before or until)[-1 if before else 0] if until else None


def growing_buffers(signals: Signals) -> GrowingBuffers | None:
    """Return what the stages hold ready, where it grows; None where it does not."""
    newest = _newest(signals)
    points = [(s.at_s, float(sum(n.buffered_bytes for n in _ready(s)))) for s in newest]
    grown = _growth(points, signals)
    if grown is None or grown.total <= 0:
        return None
    largest = max(_ready(newest[-1]), key=lambda node: node.buffered_bytes)
    stage = next((s for s in signals.stages if s.name == largest.name), None)
    where = stage.location if stage is not None else None
    size = stage.fact("buffer_size") if stage is not None else None
    each = largest.buffered_bytes / max(largest.buffered, 1)
    to_come = (size - largest.buffered) * each if isinstance(size, int) and size > 0 else None
    return GrowingBuffers(points[-1][1], grown, largest.name, where, largest.buffered, to_come)


def element_growth(signals: Signals) -> float | None:
    """Return by what factor the batches got larger from the first third to the last.

    None where it is not known. Data that gets longer needs more memory, and leaks none.
    """
    newest = _newest(signals)
    third = len(newest) // 3
    if third < 1:
        return None
    before = _batch_bytes(newest[0], newest[third])
    after = _batch_bytes(newest[-1 - third], newest[-1])
    return after / before if before and after else None


def _batch_bytes(first: Snapshot, last: Snapshot) -> float:
    before, after = first.nodes[first.root], last.nodes[last.root]
    made = after.elements - before.elements
    return (after.bytes_out - before.bytes_out) / made if made > 0 else 0.0


def _newest(signals: Signals) -> list[Snapshot]:
    """Return the snapshots of the pipeline that was made last, while the steps ran."""
    series = snapshots_of(signals.process, signals.loop.id)
    if not series:
        return []
    return [s for s in series[max(series)] if s.at_s >= signals.steps.begin_s]


def _cache_node(snapshot: Snapshot) -> Node | None:
    """Return the node of a cache in memory that something still feeds."""
    for node in snapshot.nodes.values():
        is_fed = any(number in snapshot.nodes for number in node.inputs)
        if node.name.startswith(MEMORY_CACHE) and is_fed and node.elements:
            return node
    return None


def cache_bytes(node: Node) -> float:
    """Return what a cache holds: all that went through it while it was filled."""
    return float(node.buffered_bytes or max(node.bytes_in, node.bytes_out))


def _size(cache: Operation, known: dict[int, Operation]) -> int:
    """Return how many elements go into a cache: -1 for no end, 0 where it is not known."""
    for operation in (cache, *(known[n] for n in cache.inputs if n in known)):
        count = operation.facts.get("cardinality")
        if isinstance(count, int) and count >= -1:
            return count
    return 0


def _ready(snapshot: Snapshot) -> list[Node]:
    """Return the nodes that hold elements ready."""
    return [
        node
        for node in snapshot.nodes.values()
        if not kind_of(node.name).startswith(("shuffle", "cache")) and node.buffered_bytes >= 0
    ]


def _growth(points: list[Point], signals: Signals) -> Growth | None:
    return growth(points, signals.steps)
