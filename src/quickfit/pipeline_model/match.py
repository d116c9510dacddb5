"""Matches the stages that run to the dataset operations the user wrote.

tf.data rewrites a pipeline before it runs it: it fuses `map` and `batch`, adds a prefetch at
the end, makes maps parallel and drops what does nothing. A stage that no written operation
explains was injected, an operation without a stage is gone. Of all ways to lay the two trees
side by side, the one that explains most operations is taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quickfit.pipeline_model.stages import StageCost

# Fused stages, with the operations they stand for from the consumer's side.
_FUSED = {"mapandbatch": ("batch", "map"), "shuffleandrepeat": ("repeat", "shuffle")}
# Their first input is what was written; the others were made by the function they are given.
_WITH_SUB_DATASETS = ("flatmap", "interleave")
_VERSION = re.compile(r"(dataset|v\d)+$")
# Pairs of a stage and an operation that are compared at most; a usual pipeline has a few hundred.
MAX_PAIRS = 50_000


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
    return _VERSION.sub("", class_name.strip("_").removeprefix("Parallel").lower())


def match(
    stages: list[StageCost], operations: Mapping[int, Operation], top: int
) -> dict[int, list[Operation]]:
    """Return, for each stage's node id, the operations it carries out (none if injected)."""
    below = _below(operations, top)
    if not stages or not below or len(stages) * len(below) > MAX_PAIRS:
        return {}
    return _Matcher(stages, below).found(stages[0].node.id, top)


def _below(operations: Mapping[int, Operation], top: int) -> dict[int, Operation]:
    """Return an operation and all that feed it, each after its inputs."""
    below: dict[int, Operation] = {}
    seen: set[int] = set()
    waiting = [top]
    while waiting:
        number = waiting[-1]
        inputs = operations[number].inputs if number in operations else ()
        ahead = [n for n in inputs if n not in seen] if number not in seen else []
        seen.add(number)
        if ahead:
            waiting.extend(ahead)
            continue
        waiting.pop()
        if number in operations:
            below.setdefault(number, operations[number])
    return below


Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Choice:
    """The best way to lay a stage over an operation.

    Args:
        score: how many operations are explained, here and below.
        carried: the operations that the stage itself carries out.
        following: pairs of stage and operation to go on with.
    """

    score: int
    carried: tuple[Operation, ...] = ()
    following: Pairs = ()


_NOTHING = _Choice(0)


class _Matcher:
    """Compares every stage with every operation once, from the sources to the consumer.

    Args:
        stages: each after the one it feeds.
        operations: each after its inputs.
    """

    def __init__(self, stages: list[StageCost], operations: Mapping[int, Operation]) -> None:
        self.operations = operations
        self.unexplained: dict[int, list[Operation]] = {stage.node.id: [] for stage in stages}
        self.best: dict[tuple[int, int], _Choice] = {}
        for stage in reversed(stages):
            for operation in operations.values():
                self.best[stage.node.id, operation.id] = self._best(stage, operation)

    def found(self, number: int, top: int) -> dict[int, list[Operation]]:
        """Return the operations of each stage."""
        found = dict(self.unexplained)
        waiting, seen = [(number, top)], set()
        while waiting:
            pair = waiting.pop()
            if pair not in seen and pair in self.best:
                seen.add(pair)
                found[pair[0]] = found[pair[0]] or list(self.best[pair].carried)
                waiting.extend(self.best[pair].following)
        return found

    def _best(self, stage: StageCost, operation: Operation) -> _Choice:
        """Return the choice with the highest score; a match comes before a skip of equal score."""
        injected = tuple((child, operation.id) for child in stage.node.inputs)
        gone = tuple((stage.node.id, number) for number in operation.inputs[:1])
        choices = [
            self._matched(stage, operation),
            # Not the sum: several inputs would explain the same operations several times.
            _Choice(max(self._scores(injected), default=0), (), injected),
        ]
        if len(operation.inputs) == 1:
            choices.append(_Choice(sum(self._scores(gone)), (), gone))
        return max(choices, key=lambda choice: choice.score)

    def _scores(self, pairs: Pairs) -> list[int]:
        return [self.best.get(pair, _NOTHING).score for pair in pairs]

    def _matched(self, stage: StageCost, operation: Operation) -> _Choice:
        carried = self._carried(stage.kind, operation)
        if not carried:
            return _NOTHING
        following = self._children(stage, carried[-1].inputs)
        return _Choice(len(carried) + sum(self._scores(following)), carried, following)

    def _carried(self, kind: str, operation: Operation) -> tuple[Operation, ...]:
        """Return the operations a stage stands for if the first is this one, or nothing."""
        wanted = (kind,) if operation.kind == kind else _FUSED.get(kind, (kind,))
        if operation.kind != wanted[0]:
            return ()
        carried = [operation]
        for fused in wanted[1:]:
            following = self._next(fused, carried[-1])
            if following is not None:
                carried.append(following)
        return tuple(carried)

    def _next(self, kind: str, operation: Operation) -> Operation | None:
        """Return the first operation of a kind below another, where the chain does not branch."""
        for _ in range(len(self.operations)):
            if len(operation.inputs) != 1 or operation.inputs[0] not in self.operations:
                return None
            operation = self.operations[operation.inputs[0]]
            if operation.kind == kind:
                return operation
        return None

    def _children(self, stage: StageCost, inputs: tuple[int, ...]) -> Pairs:
        """Return each input of a stage with the operation it comes from."""
        children = stage.node.inputs
        if stage.kind in _WITH_SUB_DATASETS:
            children = children[:1]
        if len(inputs) == 1:
            return tuple((child, inputs[0]) for child in children)
        children = children[: len(inputs)]
        pairs, left = [], list(inputs)
        for place, child in enumerate(children):
            # Where an input has ended, those that are left are told apart by what they do.
            spare = len(left) - (len(children) - place)
            scores = self._scores(tuple((child, number) for number in left[: spare + 1]))
            taken = scores.index(max(scores))
            pairs.append((child, left[taken]))
            del left[: taken + 1]
        return tuple(pairs)
