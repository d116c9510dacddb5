"""A pipeline with the stages that have ended: tf.data forgets a source that has run dry."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from quickfit.pipeline_model.snapshot import Node, Snapshot
from quickfit.pipeline_model.stages import kind_of

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
