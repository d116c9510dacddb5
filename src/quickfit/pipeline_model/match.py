"""Matches the stages that run to the dataset operations the user wrote.

tf.data rewrites a pipeline before it runs it: it fuses `map` and `batch`, adds a prefetch at
the end, makes maps parallel and drops what does nothing. The two trees are walked together; a
stage that no written operation explains was injected, an operation without a stage is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quickfit.pipeline_model.stages import StageCost

# Fused stages, with the operations they stand for from the consumer's side.
_FUSED = {"mapandbatch": ("batch", "map"), "shuffleandrepeat": ("repeat", "shuffle")}
# The same operation under the name of its Python class.
_SAME = {"padded": "paddedbatch", "fixedlengthrecord": "fixedlengthrecord", "_unbatch": "unbatch"}


@dataclass(frozen=True)
class Operation:
    """One dataset operation as it was written."""

    id: int
    kind: str
    file: str | None
    line: int | None
    inputs: tuple[int, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)


def operation_kind(class_name: str) -> str:
    """Return the kind of a dataset class: `ParallelMap` is a `map`."""
    base = class_name.removeprefix("Parallel").lower().removesuffix("v2").removesuffix("v1")
    return _SAME.get(base, base)


def match(
    stages: list[StageCost], operations: Mapping[int, Operation], top: int
) -> dict[int, list[Operation]]:
    """Return, for each stage's node id, the operations it carries out (none if injected)."""
    by_id = {stage.node.id: stage for stage in stages}
    found: dict[int, list[Operation]] = {}
    if stages and top in operations:
        _match(stages[0].node.id, top, by_id, operations, found)
    return found


def _match(
    number: int,
    top: int,
    stages: Mapping[int, StageCost],
    operations: Mapping[int, Operation],
    found: dict[int, list[Operation]],
) -> None:
    stage, operation = stages.get(number), operations.get(top)
    if stage is None or operation is None or number in found:
        return
    wanted = list(_FUSED.get(stage.kind, (stage.kind,)))
    start = _find(wanted[0], operation, operations)
    if start is None:
        # Injected by tf.data: the operation is still to be explained by a stage below.
        found[number] = []
        for child in stage.node.inputs:
            _match(child, top, stages, operations, found)
        return
    carried = [start]
    for kind in wanted[1:]:
        following = (
            _find(kind, operations.get(carried[-1].inputs[0]), operations)
            if carried[-1].inputs
            else None
        )
        if following is not None:
            carried.append(following)
    found[number] = carried
    for child, below in zip(stage.node.inputs, _below(stage, carried[-1]), strict=False):
        _match(child, below, stages, operations, found)


def _below(stage: StageCost, operation: Operation) -> tuple[int, ...]:
    """Return the operations below, one for each input of the stage."""
    inputs = operation.inputs
    if len(inputs) == 1:
        # `flat_map` and `interleave` show one more input per open sub-dataset.
        return inputs * max(len(stage.node.inputs), 1)
    return inputs


def _find(
    kind: str, operation: Operation | None, operations: Mapping[int, Operation]
) -> Operation | None:
    """Return the first operation of a kind down a chain, stopping where the chain branches."""
    while operation is not None:
        if operation.kind == kind:
            return operation
        if len(operation.inputs) != 1:
            return None
        operation = operations.get(operation.inputs[0])
    return None
