"""What a fix must know of the pipeline's operations, by the lines of the user's files."""

from __future__ import annotations

from quickfit.pipeline_model.match import Operation
from quickfit.signals import Signals
from quickfit.signals.input import operations
from quickfit.signals.written_chain import below, main_line, may_be_random, written

# They end a pass before the last element, or begin it later.
_CUTTING = ("take", "takewhile", "skip", "shard")


def steady_lines(signals: Signals, file: str) -> frozenset[int]:
    """Return the lines of a file whose maps neither keep state nor draw random numbers."""
    maps = [
        op
        for op in operations(signals.process).values()
        if op.runs_as == "map" and op.file == file and op.line is not None
    ]
    doubtful = {op.line for op in maps if may_be_random(op) or op.facts.get("ops") is None}
    return frozenset(op.line for op in maps if op.line is not None and op.line not in doubtful)


def is_cut_behind(signals: Signals, operation: Operation) -> bool:
    """Tell whether a pass may end before the last element that an operation gives."""
    top, known = written(signals)
    line = main_line(top, known) if top is not None else []
    places = [op.id for op in line]
    behind = line[: places.index(operation.id)] if operation.id in places else []
    return any(op.kind in _CUTTING and not op.does_nothing for op in behind)


def is_repeated(signals: Signals) -> bool:
    """Tell whether the pipeline has a `repeat` that does something."""
    top, known = written(signals)
    line = main_line(top, known) if top is not None else []
    return any(op.kind == "repeat" and not op.does_nothing for op in line)


def is_steady(signals: Signals, operation: Operation) -> bool:
    """Tell whether an operation and all that feed it give the same in every pass."""
    _, known = written(signals)
    return not any(may_be_random(part) for part in below(operation, known).values())
