"""The chain of dataset operations that feeds a loop: what feeds what, and what in it is random."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from quickfit.pipeline_model.match import Operation
from quickfit.signals import Signals
from quickfit.signals.input import Stage, operations

RANDOM_OPS = re.compile(
    r"Random|Rng|Multinomial|DistortedBoundingBox|^Stateful(Uniform|Standard|Truncated|Random)"
)
# State that does not change from one pass to the next: checks, vocabularies, captured weights.
# What conditions, loops and calls do is listed with the rest.
_STEADY_OPS = re.compile(
    r"^(Assert|Print\w*|Lookup\w*|\w*HashTable\w*|VarHandleOp|ReadVariableOp|ResourceGather|If|While"
    r"|Case|StatefulPartitionedCall)$"
)
# Nobody sees what these do.
_OPAQUE_OPS = re.compile(r"^(EagerPyFunc|PyFunc\w*|Assign\w*)$")
# What a graph's list of operations holds at most; a longer one was cut.
MAX_LISTED = 60
# Operations that give another order, or other elements, each time they run.
_RANDOM_KINDS = ("shuffle", "random", "sampledataset", "generator", "fromgenerator", "snapshot")


def written(signals: Signals) -> tuple[Operation | None, dict[int, Operation]]:
    """Return the last operation of the loop's pipeline, and all that are known, by number."""
    known = operations(signals.process)
    carried = [op for stage in signals.stages for op in stage.operations]
    return (carried[0] if carried else None), known


def below(operation: Operation, known: Mapping[int, Operation]) -> dict[int, Operation]:
    """Return an operation and all that feed it, those its function makes included."""
    found: dict[int, Operation] = {}
    waiting = [operation]
    while waiting:
        one = waiting.pop()
        if one.id not in found:
            found[one.id] = one
            parts = (*one.inputs, *one.made_by_function)
            waiting.extend(known[number] for number in parts if number in known)
    return found


def main_line(top: Operation, known: Mapping[int, Operation]) -> list[Operation]:
    """Return the operations from the consumer to where the chain branches or ends."""
    line = [top]
    while len(line[-1].inputs) == 1 and line[-1].inputs[0] in known and len(line) <= len(known):
        line.append(known[line[-1].inputs[0]])
    return line


def draws_random(operation: Operation) -> bool:
    """Tell whether the function of an operation certainly draws random numbers."""
    return any(RANDOM_OPS.search(name) for name in operation.facts.get("ops") or ())


def may_be_random(operation: Operation) -> bool:
    """Tell whether an operation may give something else the next time it runs; in doubt, yes."""
    if operation.kind in _RANDOM_KINDS or operation.facts.get("runs_python"):
        return True
    ops = operation.facts.get("ops") or ()
    if draws_random(operation) or len(ops) >= MAX_LISTED:
        return True
    if not operation.facts.get("is_stateful"):
        return False
    known = [name for name in ops if _STEADY_OPS.match(name)]
    return not known or any(_OPAQUE_OPS.match(name) for name in ops)


def stages_of(
    stages: Iterable[Stage], chosen: Mapping[int, Operation], *, without: Mapping[int, Operation]
) -> list[Stage]:
    """Return the stages whose work is that of some operations; a fused one counts as its map."""
    return [
        stage
        for stage in stages
        if stage.operations
        and stage.operations[-1].id in chosen
        and stage.operations[-1].id not in without
    ]


def cached_below(line: list[Operation], known: Mapping[int, Operation]) -> dict[int, Operation]:
    """Return what feeds the caches of a chain, and the caches themselves."""
    found: dict[int, Operation] = {}
    for operation in line:
        if operation.kind == "cache":
            found |= below(operation, known)
    return found
