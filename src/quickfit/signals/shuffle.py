"""A shuffle and what it holds: how large, and how long the stages above need to fill it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from quickfit.findings import Location
from quickfit.pipeline_model.match import Operation, match
from quickfit.pipeline_model.snapshot import Node, Snapshot
from quickfit.pipeline_model.stages import StageCost, kind_of, stage_costs
from quickfit.recording.reader import ProcessRecording
from quickfit.signals.input import operations, snapshots_of, training_iterators


@dataclass(frozen=True)
class ShuffleBuffer:
    """The fullest state of a shuffle that was seen.

    `fill_s` is the time the slowest stage above needs for what the buffer holds, by tf.data's
    model; `source_bytes` is the size of the smallest element that was written above it, and zero
    for paths and encoded files, whose size their type does not tell.
    """

    location: Location | None
    elements: int
    bytes: int
    element_bytes: float
    source_bytes: float
    fill_s: float
    is_after_cache: bool


def fullest_shuffle(
    process: ProcessRecording,
    loop: int,
    locate: Callable[[str | None, int | None], Location | None],
) -> ShuffleBuffer | None:
    """Return the shuffle of a training pipeline that held the most bytes; None without one."""
    best: tuple[int, int, Snapshot, Node] | None = None
    for iterator, series in snapshots_of(process, loop).items():
        for snapshot in series:
            for node in snapshot.nodes.values():
                # Only while the nodes above are there can their cost be told.
                is_shuffle = kind_of(node.name).startswith("shuffle") and node.inputs
                if is_shuffle and node.inputs[0] in snapshot.nodes:
                    size = node.buffered_bytes
                    if best is None or size > best[0]:
                        best = (size, iterator, snapshot, node)
    if best is None:
        return None
    _, iterator, snapshot, node = best
    top = training_iterators(process, loop)[iterator]
    return _describe(process, snapshot, node, top, locate)


def _describe(
    process: ProcessRecording,
    snapshot: Snapshot,
    node: Node,
    top: int,
    locate: Callable[[str | None, int | None], Location | None],
) -> ShuffleBuffer:
    taken = max(node.elements + node.buffered, 1)
    costs = stage_costs(None, snapshot, outputs=taken)
    known = operations(process)
    written = match(costs, known, top).get(node.id, [])
    shuffle = next((op for op in written if op.kind == "shuffle"), None)
    above = _above(node, {cost.node.id: cost for cost in costs})
    return ShuffleBuffer(
        location=locate(shuffle.file, shuffle.line) if shuffle else None,
        elements=node.buffered,
        bytes=node.buffered_bytes,
        element_bytes=node.bytes_in / taken if node.bytes_in else 0.0,
        source_bytes=_source_bytes(shuffle, known),
        fill_s=_element_s(node, snapshot, [cost.node for cost in above]) * node.buffered,
        is_after_cache=any(cost.kind == "cache" for cost in above),
    )


def _element_s(node: Node, snapshot: Snapshot, above: list[Node]) -> float:
    """Return the time that the stages above need for one element, by the slowest of them.

    A repeat after the shuffle makes its inputs anew, so they are counted by what they made. Stages
    without threads of their own run one after the other.
    """
    made = sum(snapshot.nodes[n].elements for n in node.inputs if n in snapshot.nodes)
    if not made:
        return 0.0
    parallel = [n.work_s / max(n.parallelism or 1.0, 1.0) for n in above if n.is_async]
    in_turn = sum(n.work_s for n in above if not n.is_async)
    return max([in_turn, *parallel]) / made


def _source_bytes(operation: Operation | None, known: dict[int, Operation]) -> float:
    """Return the size of the smallest element above an operation; the running nodes may be gone."""
    sizes: list[float] = []
    for _ in range(len(known)):
        if operation is None or not operation.inputs:
            break
        operation = known.get(operation.inputs[0])
        if operation is not None:
            sizes.append(float(operation.facts.get("element_bytes") or 0))
    return min(sizes, default=0.0)


def _above(node: Node, costs: dict[int, StageCost]) -> list[StageCost]:
    """Return the stages between a node and its sources."""
    found: list[StageCost] = []
    waiting = list(node.inputs)
    while waiting:
        cost = costs.get(waiting.pop())
        if cost is not None and cost not in found:
            found.append(cost)
            waiting.extend(cost.node.inputs)
    return found
