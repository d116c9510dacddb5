"""Pipelines that are built anew for every epoch: by which lines, and how long that takes."""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quickfit.code.lines import is_in_one_function
from quickfit.findings import Location
from quickfit.pipeline_model.match import Operation
from quickfit.signals.dataset_chains import below
from quickfit.signals.input import operations, training_iterators
from quickfit.signals.stacks import Frame, timed_stacks

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# What must be the same for two pipelines to be the same pipeline: others are other data.
_SAME = ("cardinality", "element_bytes", "batch_size", "buffer_size", "count", "num_shards")
# Functions of an iterator on a stack: it gives a batch or is made, no pipeline is built.
_ASKING = ("__next__", "get_next", "_next_internal", "__iter__", "_create_iterator")
# Where a strategy makes the parts of an iterator, once per epoch and device.
_OF_STRATEGIES = "tensorflow.python.distribute"
# What makes an iterator for the user makes its own parts with it.
_MAKES_ITERATORS = ("fit", "evaluate", "predict", "__iter__")
Place = tuple[str, int]


@dataclass(frozen=True)
class Rebuilt:
    """A pipeline of which each epoch builds its own copy.

    Args:
        location: the line of the loop that has it built.
        places: the lines that build it.
        copies: how many were seen; short ones may be missed.
        epochs: how many epochs there were.
        traces: how often its functions were traced again, after the first time.
        traced_s: how long that took.
        built_s: how long the main thread was seen at these lines, tracing included.
        has_cache: whether a cache is part of what is built.
        span_s: the time these numbers are of.
    """

    location: Location | None
    places: frozenset[Place]
    copies: int
    epochs: int
    traces: int
    traced_s: float
    built_s: float
    has_cache: bool
    span_s: float


def rebuilt(signals: Signals) -> Rebuilt | None:
    """Return the pipeline that is built anew for every epoch; None where it is built once."""
    known = operations(signals.process)
    iterators = sorted(training_iterators(signals.process, signals.loop.id).items())
    tops = list(dict.fromkeys(dataset for _, dataset in iterators if dataset in known))
    fresh = _fresh_parts([below(known[top], known) for top in tops])
    if len(fresh) < 2 or not _are_alike(fresh):
        return None
    parts = fresh[-1]
    places = frozenset((op.file, op.line) for op in parts if op.file and op.line)
    begin_s, end_s = _span(signals)
    again = [
        trace
        for trace in signals.traces
        if trace.name.startswith("Dataset_")
        and begin_s <= trace.at_s <= end_s
        and trace.caller is not None
        and (trace.caller.file, trace.caller.line) in places
    ]
    return Rebuilt(
        location=_line_of_loop(signals, parts),
        places=places,
        copies=len(fresh),
        epochs=len(_first_steps(signals)),
        traces=len(again),
        traced_s=sum(trace.duration_s for trace in again if not trace.is_nested),
        built_s=_built_s(signals, places, begin_s, end_s),
        has_cache=any(op.kind == "cache" for op in parts),
        span_s=end_s - begin_s,
    )


def _fresh_parts(chains: list[dict[int, Operation]]) -> list[list[Operation]]:
    """Return, for each pipeline, the user's operations that no earlier one had."""
    seen: set[int] = set()
    found = []
    for chain in chains:
        fresh = [op for number, op in sorted(chain.items()) if number not in seen]
        found.append([op for op in fresh if _is_users(op)])
        seen.update(chain)
    # The first pipeline is all new; of a chain that grows in each epoch, the later are not.
    return found if found and found[0] else []


def _is_users(operation: Operation) -> bool:
    facts = operation.facts
    if operation.file is None or operation.does_nothing or facts.get("call") in _MAKES_ITERATORS:
        return False
    return not str(facts.get("made_in") or "").startswith(_OF_STRATEGIES)


def _are_alike(fresh: list[list[Operation]]) -> bool:
    """Tell whether all copies after the first come from the same lines and hold the same."""
    later = fresh[1:]
    shapes = [{_identity(op) for op in parts} for parts in later]
    first = {_identity(op) for op in fresh[0]}
    return all(shape and shape == shapes[0] for shape in shapes) and shapes[0] <= first


def _identity(operation: Operation) -> tuple[Any, ...]:
    facts = tuple(operation.facts.get(name) for name in _SAME)
    return (operation.kind, operation.file, operation.line, facts)


def _line_of_loop(signals: Signals, parts: list[Operation]) -> Location | None:
    """Return the line that builds the pipeline in the function that trains with it."""
    chains = [_chain(operation) for operation in parts]
    shared = [line for line in chains[0] if all(line in chain for chain in chains)]
    loop = signals.loop.location
    if loop is not None:
        text = signals.source_text(loop.file)
        near = [
            line
            for chain in chains
            for file, line in chain
            if file == loop.file and is_in_one_function(text, line, loop.line)
        ]
        if near:
            return signals.location(loop.file, min(near))
    return signals.location(*(shared[0] if shared else min(chain[0] for chain in chains)))


def _chain(operation: Operation) -> list[Place]:
    """Return the lines of the script that an operation came from, the innermost first."""
    via = operation.facts.get("via") or []
    places = [(operation.file, operation.line or 0), *via]
    return [(str(file), int(line)) for file, line in places]


def _first_steps(signals: Signals) -> dict[int, float]:
    first: dict[int, float] = {}
    for row in signals.process.rows("steps"):
        if row["loop"] == signals.loop.id:
            first.setdefault(row["epoch"], row["begin_s"])
    return first


def _span(signals: Signals) -> tuple[float, float]:
    """Return the training after warm-up, which the whole time is counted from."""
    begin_s = signals.steps.begin_s
    return begin_s, begin_s + signals.whole_time.total_s


def _built_s(signals: Signals, places: frozenset[Place], begin_s: float, end_s: float) -> float:
    stacks = timed_stacks(signals.process, begin_s, end_s, wanted=lambda *_: True)
    return sum(stack.seconds for stack in stacks if _builds(stack.frames, places))


def _builds(frames: tuple[Frame, ...], places: frozenset[Place]) -> bool:
    if any(frame.function in _ASKING for frame in frames):
        return False
    return any((frame.file, frame.line) in places for frame in frames)


def between_epochs_s(signals: Signals) -> float:
    """Return the median time from the last step of an epoch to the first of the next."""
    ends: dict[int, float] = {}
    for row in signals.process.rows("steps"):
        if row["loop"] == signals.loop.id:
            ends[row["epoch"]] = row["end_s"]
    begins = _first_steps(signals)
    epochs = sorted(begins, key=lambda epoch: begins[epoch])
    gaps = [begins[b] - ends[a] for a, b in itertools.pairwise(epochs)]
    return statistics.median(gaps) if gaps else 0.0
