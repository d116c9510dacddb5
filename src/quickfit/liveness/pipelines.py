"""The stages of a running pipeline and how fast they move, from two looks at tf.data's model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quickfit.errors import RecordingError
from quickfit.findings import Location
from quickfit.liveness.rows import NewRows, Row, value_of
from quickfit.liveness.scene import Stage
from quickfit.pipeline_model.match import Operation, match, operation_kind
from quickfit.pipeline_model.snapshot import Node, Snapshot, snapshot_from_row
from quickfit.pipeline_model.stages import kind_of, stage_costs

Locate = Callable[[str | None, int | None], Location | None]
# Snapshots come every half second; so many reach back far enough for a rate.
_LOOKS = 24
# A rate over less than this is noise.
_MIN_SPAN_S = 1.5
# Chains that are described at most: the newest, which is the one that runs, is among them.
_MAX_OPERATIONS = 400
# The user's operation that a fused stage is called after, by what one wants to know of it.
_NAMED_FIRST = ("shuffle", "cache", "filter", "map", "batch", "generator")


def running_stages(rows: NewRows, now_s: float, locate: Locate) -> tuple[str, tuple[Stage, ...]]:
    """Return the phase of the pipeline that was asked last, and its stages from the consumer on."""
    looks = [row for row in rows.newest("pipelines", _LOOKS) if row["at_s"] > now_s - 12.0]
    if not looks:
        return _written(rows, locate)
    iterator = looks[-1]["iterator"]
    snapshots = [found for row in looks if row["iterator"] == iterator if (found := _read(row))]
    if not snapshots:
        return "", ()
    told = rows.ask("SELECT * FROM iterators WHERE id = ?", iterator)
    top, phase = (told[0]["dataset"], told[0]["phase"]) if told else (0, "")
    last = snapshots[-1]
    old_enough = [s for s in snapshots if last.at_s - s.at_s >= _MIN_SPAN_S]
    # The youngest of them: what moved lately is asked for, not what moved once.
    first = old_enough[-1] if old_enough else None
    return phase, _stages(first, last, _operations(rows), top, locate)


def _written(rows: NewRows, locate: Locate) -> tuple[str, tuple[Stage, ...]]:
    """Return the stages as they were written; where autotune is off, nobody counts what moves."""
    newest, known = rows.newest("iterators", 1), _operations(rows)
    found: list[Stage] = []
    number = newest[0]["dataset"] if newest else None
    while number in known and len(found) < len(known):
        operation = known[number]
        place = locate(operation.file, operation.line)
        facts = dict(operation.facts)
        cardinality, size = _whole(facts.get("cardinality")), _size([operation])
        found.append(Stage(operation.kind, 0, 0.0, 0, 0.0, 0, size, cardinality, place, facts))
        number = operation.inputs[0] if operation.inputs else None
    return (newest[0]["phase"] if newest else ""), tuple(found)


def _read(row: Row) -> Snapshot | None:
    try:
        return snapshot_from_row({**row, "nodes": value_of(row["nodes"])})
    except RecordingError:
        return None


def _operations(rows: NewRows) -> dict[int, Operation]:
    found = {}
    for row in rows.newest("datasets", _MAX_OPERATIONS):
        inputs, facts = value_of(row["inputs"]), value_of(row["facts"])
        if isinstance(inputs, list) and isinstance(facts, dict):
            kind, place = operation_kind(row["kind"]), (row["file"], row["line"])
            found[row["id"]] = Operation(row["id"], kind, *place, tuple(inputs), facts)
    return found


def _stages(
    first: Snapshot | None,
    last: Snapshot,
    known: dict[int, Operation],
    top: int,
    locate: Locate,
) -> tuple[Stage, ...]:
    costs = stage_costs(None, last, outputs=1)
    written = match(costs, known, top)
    return tuple(
        _stage(cost.node, first, last, written.get(cost.node.id, []), locate) for cost in costs
    )


def _stage(
    node: Node,
    first: Snapshot | None,
    last: Snapshot,
    carried: list[Operation],
    locate: Locate,
) -> Stage:
    before = first.nodes.get(node.id) if first is not None else None
    span_s = last.at_s - first.at_s if first is not None else 0.0
    operation = min(carried, key=_wanted, default=None)
    facts: dict[str, Any] = dict(operation.facts) if operation is not None else {}
    kind = operation.kind if operation is not None else kind_of(node.name)
    grown = node.elements - before.elements if before is not None else 0
    filled = node.buffered - before.buffered if before is not None else 0
    return Stage(
        kind=kind,
        elements=node.elements,
        per_s=max(grown, 0) / span_s if span_s else 0.0,
        buffered=node.buffered,
        buffered_per_s=filled / span_s if span_s else 0.0,
        buffered_bytes=node.buffered_bytes,
        size=_size(carried),
        cardinality=_whole(facts.get("cardinality")),
        location=locate(operation.file, operation.line) if operation is not None else None,
        facts=facts,
    )


def _wanted(operation: Operation) -> int:
    named = operation.kind in _NAMED_FIRST
    return _NAMED_FIRST.index(operation.kind) if named else len(_NAMED_FIRST)


def _size(carried: list[Operation]) -> int | None:
    for operation in carried:
        for name in ("buffer_size", "batch_size"):
            size = _whole(operation.facts.get(name))
            if size is not None and operation.kind in ("shuffle", "batch", "paddedbatch"):
                return size
    return None


def _whole(value: Any) -> int | None:  # as JSON has it
    return value if isinstance(value, int) and not isinstance(value, bool) else None
