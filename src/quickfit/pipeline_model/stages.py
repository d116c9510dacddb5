"""The stages of a pipeline by tf.data's own model, also of a pipeline that has ended."""

from __future__ import annotations

import dataclasses
import re
from collections import deque
from collections.abc import Iterable
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
    "FileCache": "cache",
    "FileReader": "cache",
    "FileWriter": "cache",
    "SnapshotWriter": "snapshot",
    "SnapshotReader": "snapshot",
    "SnapshotPassthrough": "snapshot",
    "EmptyTake": "take",
    "EmptySkip": "skip",
    "FromTensor": "tensor",
    "TensorSlice": "tensorslice",
    "ParallelInterleave": "interleave",
    "LegacyParallelInterleave": "interleave",
    "ParallelBatch": "batch",
    "PaddedBatch": "paddedbatch",
    "TFRecord": "tfrecord",
    "FilterFusion": "filter",
}
# Stages whose inputs end and are made anew, and how many of their inputs stay.
_KEPT_INPUTS = {
    "repeat": 0,
    "shuffleandrepeat": 0,
    "interleave": 1,
    "flatmap": 1,
    "groupbywindow": 1,
}
# Inputs that made less than this share of what a stage passed on are not all that there were.
_COMPLETE_SHARE = 0.8


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


def stage_costs(
    first: Snapshot | None, last: Snapshot, *, outputs: int | None = None
) -> list[StageCost]:
    """Return the stages from the consumer to the sources, with their cost per output element.

    Args:
        first: the earlier snapshot, or None to count from the pipeline's start.
        last: the later snapshot of the same pipeline.
        outputs: what to divide by; by default the elements that left the pipeline.
    """
    if outputs is None:
        outputs = last.nodes[last.root].elements - _earlier(first, last.root).elements
    if outputs <= 0:
        return []
    flows: dict[int, float] = {}  # elements per output, of nodes that began again
    costs: list[StageCost] = []
    for number in _walk(last):
        cost = _cost(last.nodes[number], first, outputs, flows.get(number))
        costs.append(cost)
        flows.update(_flows_below(cost, first, last, began_again=number in flows))
    return costs


def _cost(node: Node, first: Snapshot | None, outputs: int, flow: float | None) -> StageCost:
    before = _earlier(first, node.id)
    if flow is None or not node.elements:
        work_s = max(node.work_s - before.work_s, 0.0) / outputs
        flow = max(node.elements - before.elements, 0) / outputs
    else:
        # What an asynchronous stage has ready took its work, too.
        made = node.elements + (node.buffered if node.is_async else 0)
        work_s = max(node.work_s, 0.0) / made * flow
    return StageCost(node, kind_of(node.name), work_s, flow, node.parallelism or 1.0)


def _flows_below(
    cost: StageCost, first: Snapshot | None, last: Snapshot, *, began_again: bool
) -> dict[int, float]:
    """Return how many elements per output the inputs make that began again in this window.

    A `repeat` makes its inputs anew for each pass, an `interleave` for each sub-dataset, and
    the work of those that ended is forgotten. What is left of them is a sample: an element of
    the stage is an element of one of them.
    """
    node, nodes = cost.node, last.nodes
    inputs = [number for number in node.inputs if number in nodes]
    kept = _KEPT_INPUTS.get(cost.kind, len(inputs))
    flows: dict[int, float] = {}
    if began_again and node.elements:
        # What waits in the buffer has been made, but has not come out yet.
        made = {n: max(nodes[n].elements - node.buffered, 0) for n in inputs[:kept]}
        flows = {n: cost.per_output * made[n] / node.elements for n in made}
    renewed = inputs[kept:]
    if began_again or not _are_complete(renewed, node, first, last):
        total = sum(nodes[number].elements for number in renewed)
        flows |= {n: cost.per_output * nodes[n].elements / total for n in renewed if total}
    return flows


def _are_complete(renewed: list[int], node: Node, first: Snapshot | None, last: Snapshot) -> bool:
    """Tell whether the inputs that are there made what a stage passed on in this window."""
    if first is None or not any(number in first.nodes for number in renewed):
        return False
    made = sum(last.nodes[n].elements - _earlier(first, n).elements for n in renewed)
    return made >= _COMPLETE_SHARE * (node.elements - _earlier(first, node.id).elements)


def _earlier(first: Snapshot | None, number: int) -> Node:
    # A node that was not there before is counted from zero.
    if first is not None and number in first.nodes:
        return first.nodes[number]
    return Node(number, "", 0, 0.0, 0, 0, None, None, 0, 0, False, ())


def _walk(snapshot: Snapshot) -> list[int]:
    """Return the nodes, each after the one it feeds."""
    order: dict[int, None] = {}
    waiting = deque([snapshot.root])
    while waiting:
        number = waiting.popleft()
        if number in snapshot.nodes and number not in order:
            order[number] = None
            waiting.extend(snapshot.nodes[number].inputs)
    return list(order)


def input_period_s(stages: list[StageCost]) -> float:
    """Return the least time between two outputs: the slowest run of stages that share a thread.

    An asynchronous stage (prefetch, parallel map) has threads of its own; the stages below it,
    down to the next asynchronous one, run on them. A parallel interleave runs its sub-datasets
    on all of its threads at once.
    """
    groups: dict[int, int] = {}  # stage to the stage whose thread it runs on
    threads: dict[int, float] = {}  # stage to the number of threads that run it and its like
    periods: dict[int, float] = {}
    for stage in stages:  # each after the one it feeds
        number = stage.node.id
        group = number if stage.node.is_async else groups.get(number, number)
        shared = 1.0 if stage.node.is_async else threads.get(number, 1.0)
        periods[group] = periods.get(group, 0.0) + stage.period_s / shared
        groups.update(dict.fromkeys(stage.node.inputs, group))
        threads.update(dict.fromkeys(stage.node.inputs, shared))
        if stage.node.is_async and stage.kind == "interleave":
            made = stage.node.inputs[_KEPT_INPUTS[stage.kind] :]
            threads.update(dict.fromkeys(made, max(stage.parallelism, 1.0)))
    return max(periods.values(), default=0.0)


# Stages that hand every element on as it is; a buffer may hold some back.
_ONE_TO_ONE = ("root", "prefetch", "shuffle", "take", "skip", "cache", "options", "map")


def with_ended_nodes(snapshots: Iterable[Snapshot]) -> Snapshot:
    """Return the snapshot that came furthest, with the nodes that it has lost.

    They are taken from the fullest one, of the same or of another pass over the same dataset,
    and scaled to what has come out: elements that wait in a buffer belong to later steps.
    """
    known = list(snapshots)
    moved = [s for s in known if s.nodes[s.root].elements] or known
    furthest = max(moved, key=lambda s: (len(s.nodes), s.nodes[s.root].elements))
    fullest = max(known, key=lambda s: (len(s.nodes), sum(n.elements for n in s.nodes.values())))
    nodes = dict(furthest.nodes)
    _graft(nodes, furthest.root, fullest, fullest.root)
    return dataclasses.replace(furthest, nodes=nodes)


def _graft(nodes: dict[int, Node], number: int, fuller: Snapshot, other: int) -> None:
    """Give a node the inputs that its like has in a fuller snapshot."""
    node, like = nodes[number], fuller.nodes[other]
    if node.name != like.name:
        return
    there = [n for n in node.inputs if n in nodes]
    missing = [n for n in like.inputs if n in fuller.nodes]
    if there:
        for mine, theirs in zip(there, missing, strict=False):
            _graft(nodes, mine, fuller, theirs)
        return
    added = _subtree(fuller, missing)
    new = {old: max(nodes) + 1 + place for place, old in enumerate(added)}
    share = _share(node, like, sum(fuller.nodes[n].elements for n in missing))
    for old in added:
        nodes[new[old]] = _scaled(fuller.nodes[old], new, share)
    nodes[number] = dataclasses.replace(node, inputs=tuple(new[n] for n in missing))


def _share(node: Node, like: Node, given: int) -> float:
    """Return how much of what the inputs made in the fuller snapshot belongs to this one."""
    if kind_of(node.name) in _ONE_TO_ONE:
        return node.elements / given if given else 1.0
    # Before the first batch nobody knows: what was seen is at most what a pass needs.
    return node.elements / like.elements if like.elements else 1.0


def _subtree(snapshot: Snapshot, roots: list[int]) -> list[int]:
    found: dict[int, None] = {}
    waiting = list(roots)
    while waiting:
        number = waiting.pop()
        if number in snapshot.nodes and number not in found:
            found[number] = None
            waiting.extend(snapshot.nodes[number].inputs)
    return list(found)


def _scaled(node: Node, new: dict[int, int], share: float) -> Node:
    return dataclasses.replace(
        node,
        id=new[node.id],
        elements=round(node.elements * share),
        bytes_out=round(node.bytes_out * share),
        work_s=node.work_s * share,
        inputs=tuple(new[n] for n in node.inputs if n in new),
    )
