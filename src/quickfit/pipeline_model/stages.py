"""What each stage of a pipeline costs per element that comes out, from two snapshots."""

from __future__ import annotations

import re
from dataclasses import dataclass

from quickfit.pipeline_model.snapshot import Node, Snapshot

_VERSION = re.compile(r"(V\d+|Dataset|Impl)+$")
_KINDS = {
    "ForeverRepeat": "repeat",
    "FiniteRepeat": "repeat",
    "EmptyRepeat": "repeat",
    "FiniteTake": "take",
    "FiniteSkip": "skip",
    "MemoryCache": "cache",
    "MemoryReader": "cache",
    "MemoryWriter": "cache",
    "FileReader": "cache",
    "FileWriter": "cache",
    "FromTensor": "tensor",
    "TensorSlice": "tensorslice",
    "ParallelInterleave": "interleave",
    "LegacyParallelInterleave": "interleave",
    "ParallelBatch": "batch",
    "PaddedBatch": "paddedbatch",
    "TFRecord": "tfrecord",
    "FilterFusion": "filter",
}


@dataclass(frozen=True)
class StageCost:
    """One runtime stage over a window.

    `work_s` is its own working time per element that leaves the pipeline (a batch, usually),
    summed over its threads. `period_s` is the least time between two such elements that the
    stage allows with the parallelism it has.
    """

    node: Node
    kind: str
    work_s: float
    per_output: float
    parallelism: float

    @property
    def period_s(self) -> float:
        """The time per output element if this stage alone were the limit."""
        return self.work_s / max(self.parallelism, 1.0)

    @property
    def element_bytes(self) -> float:
        """The mean size of what the stage passes on."""
        return self.node.bytes_out / self.node.elements if self.node.elements else 0.0


def kind_of(name: str) -> str:
    """Return the kind of operation of a runtime node: `ParallelMapV2` is a `map`."""
    base = _VERSION.sub("", name)
    if base in _KINDS:
        return _KINDS[base]
    return base.removeprefix("Parallel").lower()


def stage_costs(first: Snapshot | None, last: Snapshot) -> list[StageCost]:
    """Return the stages from the consumer to the sources, with their cost per output element.

    Args:
        first: the earlier snapshot, or None to count from the pipeline's start.
        last: the later snapshot of the same pipeline.
    """
    outputs = last.nodes[last.root].elements - _earlier(first, last.root).elements
    if outputs <= 0:
        return []
    return [_cost(last.nodes[number], first, outputs) for number in _walk(last)]


def _cost(node: Node, first: Snapshot | None, outputs: int) -> StageCost:
    before = _earlier(first, node.id)
    return StageCost(
        node=node,
        kind=kind_of(node.name),
        work_s=max(node.work_s - before.work_s, 0.0) / outputs,
        per_output=(node.elements - before.elements) / outputs,
        parallelism=node.parallelism or 1.0,
    )


def _earlier(first: Snapshot | None, number: int) -> Node:
    # A node that was not there before is counted from zero: `repeat` makes new ones.
    if first is not None and number in first.nodes:
        return first.nodes[number]
    return Node(number, "", 0, 0.0, 0, 0, None, None, 0, 0, False, ())


def _walk(snapshot: Snapshot) -> list[int]:
    order: list[int] = []
    waiting = [snapshot.root]
    while waiting:
        number = waiting.pop(0)
        if number in snapshot.nodes and number not in order:
            order.append(number)
            waiting.extend(snapshot.nodes[number].inputs)
    return order


def input_period_s(stages: list[StageCost]) -> float:
    """Return the least time between two outputs: the slowest run of stages that share a thread.

    An asynchronous stage (prefetch, parallel map) has threads of its own; the stages below it,
    down to the next asynchronous one, run on them.
    """
    by_id = {stage.node.id: stage for stage in stages}
    periods: list[float] = []

    def add(number: int, group: int) -> None:
        stage = by_id.get(number)
        if stage is None:
            return
        if stage.node.is_async:
            periods.append(0.0)
            group = len(periods) - 1
        periods[group] += stage.period_s
        for child in stage.node.inputs:
            add(child, group)

    if stages:
        periods.append(0.0)
        add(stages[0].node.id, 0)
    return max(periods, default=0.0)
