"""Matches the stages that run to the dataset operations the user wrote.

tf.data rewrites a pipeline before it runs it: it fuses `map` and `batch`, adds a prefetch at
the end, makes maps parallel and drops what does nothing. A stage that no written operation
explains was injected, an operation without a stage is gone. Of all ways to lay the two trees
side by side, the one that explains most stages is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from quickfit.pipeline_model.snapshot import Operation, operation_kind
from quickfit.pipeline_model.stages import StageCost

__all__ = ["Operation", "match", "operation_kind"]

# Fused stages, with the operations they stand for from the consumer's side.
_FUSED = {"mapandbatch": ("batch", "map"), "shuffleandrepeat": ("repeat", "shuffle")}
# With tf.data's fusion options on, neighbours of these kinds are one stage.
_FUSED_WITH_ITSELF = ("map", "filter")
# Their first input is what was written; the others were made by the function they are given.
_WITH_SUB_DATASETS = ("flatmap", "interleave", "groupbywindow")
# Read files by a `flat_map` or `interleave` over the names, made for the user.
_READERS = ("tfrecord", "textline", "fixedlengthrecord")
# The second node of an operation that runs as two.
_SECOND_NODES = re.compile(r"^(Memory|File)CacheImpl|^Snapshot(Writer|Reader|Passthrough)")
# Pairs of a stage and an operation that are compared at most; a usual pipeline has a few hundred.
MAX_PAIRS = 50_000

# What a match is worth. An operation that should be gone is the last to be taken for a stage, and
# two neighbours are fused only where there are not two stages for them.
_STAGE, _OPERATION, _FUSED_NEIGHBOUR, _USELESS = 10, 4, 3, 3


def match(
    stages: list[StageCost], operations: Mapping[int, Operation], top: int
) -> dict[int, list[Operation]]:
    """Return, for each stage's node id, the operations it carries out (none if injected)."""
    below = _below(operations, top)
    if not stages or not below or len(stages) * len(below) > MAX_PAIRS:
        return {}
    return _Matcher(stages, below).found(stages[0].node.id, top)


def _below(operations: Mapping[int, Operation], top: int) -> dict[int, Operation]:
    """Return an operation and all that feed it, each after what it is made of."""
    below: dict[int, Operation] = {}
    seen: set[int] = set()
    waiting = [top]
    while waiting:
        number = waiting[-1]
        operation = operations.get(number)
        parts = (*operation.inputs, *operation.made_by_function) if operation else ()
        ahead = [n for n in parts if n not in seen] if number not in seen else []
        seen.add(number)
        if ahead:
            waiting.extend(ahead)
            continue
        waiting.pop()
        if operation is not None:
            below.setdefault(number, operation)
    return below


Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Choice:
    """The best way to lay a stage over an operation.

    Args:
        score: what is explained, here and below.
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
        self.stages = {stage.node.id: stage for stage in stages}
        self.best: dict[tuple[int, int], _Choice] = {}
        self.carrying: dict[tuple[int, int], _Choice] = {}
        for stage in reversed(stages):
            for operation in operations.values():
                self.best[stage.node.id, operation.id] = self._best(stage, operation)

    def found(self, number: int, top: int) -> dict[int, list[Operation]]:
        """Return the operations of each stage."""
        found: dict[int, list[Operation]] = {stage: [] for stage in self.stages}
        waiting, seen = [(number, top)], set()
        while waiting:
            pair = waiting.pop()
            if pair not in seen and pair in self.best:
                seen.add(pair)
                choice = self.best[pair]
                found[pair[0]] = found[pair[0]] or list(choice.carried)
                waiting.extend(choice.following)
                if choice.carried and not choice.carried[-1].inputs:
                    self._give_all_below(pair[0], list(choice.carried), found)
        return found

    def _give_all_below(
        self, number: int, carried: list[Operation], found: dict[int, list[Operation]]
    ) -> None:
        """A source that runs as several stages is all of them: what is below it, it made."""
        waiting = [n for n in self.stages[number].node.inputs if n in self.stages]
        while waiting:
            below = waiting.pop()
            if not found[below]:
                found[below] = carried
                waiting.extend(n for n in self.stages[below].node.inputs if n in self.stages)

    def _best(self, stage: StageCost, operation: Operation) -> _Choice:
        """Return the choice with the highest score; a match comes before a skip of equal score."""
        injected = tuple((child, operation.id) for child in stage.node.inputs)
        gone = tuple((stage.node.id, number) for number in operation.inputs[:1])
        choices = [
            *self._matched(stage, operation),
            # Not the sum: several inputs would explain the same operations several times.
            _Choice(max(self._scores(injected), default=0), (), injected),
        ]
        if len(operation.inputs) == 1:
            choices.append(_Choice(sum(self._scores(gone)), (), gone))
        return max(choices, key=lambda choice: choice.score)

    def _scores(self, pairs: Pairs) -> list[int]:
        return [self.best.get(pair, _NOTHING).score for pair in pairs]

    def _matched(self, stage: StageCost, operation: Operation) -> list[_Choice]:
        """Return the best way in which a stage carries out an operation, if there is one."""
        if operation.kind in _READERS and stage.kind in ("flatmap", "interleave"):
            return self._as_reader(stage, operation)
        carried = self._carried(stage.kind, operation)
        if not carried:
            return []
        choices = [
            _Choice(_worth(carried) + sum(self._scores(following)), carried, following)
            for following in self._ways_down(stage, carried[-1])
        ]
        choices += self._with_neighbour(stage, operation)
        best = max(choices, key=lambda choice: choice.score)
        self.carrying[stage.node.id, operation.id] = best
        return [best]

    def _with_neighbour(self, stage: StageCost, operation: Operation) -> list[_Choice]:
        """Return the choice that a stage carries out an operation and the one below it, fused."""
        if stage.kind not in _FUSED_WITH_ITSELF or operation.does_nothing:
            return []
        if not any(child in self.stages for child in stage.node.inputs):
            return []  # what is below has ended; it is not known whether it was one stage more
        below = self._neighbour(stage.kind, operation)
        fused = self.carrying.get((stage.node.id, below.id)) if below is not None else None
        if fused is None:
            return []
        carried = (operation, *fused.carried)
        return [_Choice(fused.score + _FUSED_NEIGHBOUR, carried, fused.following)]

    def _as_reader(self, stage: StageCost, operation: Operation) -> list[_Choice]:
        """Return the choice that a stage reads the files of a reader, one after another."""
        files: list[int] = []
        names: list[int] = []
        for child in stage.node.inputs:
            is_file = child in self.stages and self.stages[child].kind == operation.kind
            (files if is_file else names).append(child)
        following = (
            *((child, operation.id) for child in files),
            *((child, number) for child in names for number in operation.inputs[:1]),
        )
        score = _worth((operation,)) + sum(self._scores(following))
        return [_Choice(score, (operation,), following)]

    def _carried(self, kind: str, operation: Operation) -> tuple[Operation, ...]:
        """Return the operations a stage stands for if the first is this one, or nothing."""
        wanted = (kind,) if operation.runs_as == kind else _FUSED.get(kind, (kind,))
        if operation.runs_as != wanted[0]:
            return ()
        carried = [operation]
        for fused in wanted[1:]:
            following = self._next(fused, carried[-1])
            if following is not None:
                carried.append(following)
        return tuple(carried)

    def _next(self, kind: str, operation: Operation) -> Operation | None:
        """Return the first operation of a kind below another, where the chain does not branch."""
        for below in self._chain_below(operation):
            if below.runs_as == kind and not below.does_nothing:
                return below
        return None

    def _neighbour(self, kind: str, operation: Operation) -> Operation | None:
        """Return the operation of a kind right below another, past those that do nothing."""
        for below in self._chain_below(operation):
            if not below.does_nothing:
                return below if below.runs_as == kind else None
        return None

    def _chain_below(self, operation: Operation) -> Iterator[Operation]:
        for _ in range(len(self.operations)):
            if len(operation.inputs) != 1 or operation.inputs[0] not in self.operations:
                return
            operation = self.operations[operation.inputs[0]]
            yield operation

    def _ways_down(self, stage: StageCost, operation: Operation) -> list[Pairs]:
        """Return the ways to lay the inputs of a stage over what an operation is made of."""
        children = stage.node.inputs
        if stage.kind in _WITH_SUB_DATASETS:
            ways = [
                (*self._children(children[:1], operation), *self._made(children[1:], operation))
            ]
            if operation.made_by_function:
                # An input that has ended is gone, and all that is left was made by the function.
                ways.append(self._made(children, operation))
            return ways
        if operation.kind == "copytodevice":
            return [()]  # its input runs on the other device, out of sight
        return [self._children(children, operation)]

    def _made(self, children: tuple[int, ...], operation: Operation) -> Pairs:
        """Return each stage that an operation's function made, with the chain most like it."""
        made = operation.made_by_function
        if not made:
            return ()
        pairs = []
        for child in children:
            scores = self._scores(tuple((child, number) for number in made))
            pairs.append((child, made[scores.index(max(scores))]))
        return tuple(pairs)

    def _children(self, children: tuple[int, ...], operation: Operation) -> Pairs:
        """Return each input of a stage with the operation it comes from."""
        inputs = operation.inputs
        second = [c for c in children if c in self.stages and _is_second(self.stages[c])]
        if second:
            return tuple((child, operation.id) for child in second)
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


def _is_second(stage: StageCost) -> bool:
    return _SECOND_NODES.match(stage.node.name) is not None


def _worth(carried: tuple[Operation, ...]) -> int:
    return _USELESS if carried[0].does_nothing else _STAGE + _OPERATION * len(carried)
