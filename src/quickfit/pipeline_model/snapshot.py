"""A reading of tf.data's model of a pipeline, and the names of its operations."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quickfit.errors import RecordingError

# tf.data keeps the last hundred times between two requests of its consumer.
MAX_GAPS = 100


@dataclass(frozen=True)
class Node:
    """One stage of the pipeline as it runs, which is not always one line of the user's.

    `work_s` is the time its code was running, summed over threads, without its inputs.
    """

    id: int
    name: str
    elements: int
    work_s: float
    bytes_out: int
    bytes_in: int
    parallelism: float | None
    buffer: float | None
    buffered: int
    buffered_bytes: int
    is_async: bool
    inputs: tuple[int, ...]


@dataclass(frozen=True)
class Snapshot:
    """All nodes at one moment, and the consumer's time between its last requests."""

    at_s: float
    gaps: int
    gap_s: float
    root: int
    nodes: dict[int, Node]


def nodes_to_json(proto: Any) -> str:
    """Return the nodes of a `ModelProto` as JSON (the proto is TensorFlow's, hence Any)."""
    rows = []
    for number, node in proto.nodes.items():
        # `state_value` is what runs; `value` is what the tuner would like (measured on 2.21).
        parameters = {p.name: _finite(p.state_value or p.value) for p in node.parameters}
        rows.append(
            [
                number,
                node.name,
                node.num_elements,
                node.processing_time / 1e9,
                node.bytes_produced,
                node.bytes_consumed,
                parameters.get("parallelism"),
                parameters.get("buffer_size"),
                node.buffered_elements,
                node.buffered_bytes,
                # 2, 4 and 6 are the asynchronous node classes of model.proto.
                int(node.node_class) in (2, 4, 6),
                list(node.inputs),
            ]
        )
    return json.dumps(rows)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None  # JSON knows no infinity


def recent_gaps(proto: Any, new_elements: int) -> tuple[int, float]:
    """Return how many of the consumer's gaps belong to `new_elements`, and their sum in seconds."""
    gaps = list(proto.gap_times)
    used = max(min(new_elements, len(gaps), MAX_GAPS), 0)
    return used, sum(gaps[-used:]) / 1e6 if used else 0.0


def snapshot_from_row(row: dict[str, Any]) -> Snapshot:
    """Return the snapshot that a row of `pipelines` holds.

    Raises:
        RecordingError: the row was mangled.
    """
    try:
        nodes = {int(item[0]): _node(item) for item in row["nodes"]}
        root = nodes[int(row["root"])]
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise RecordingError(
            f"this recording is damaged (a pipeline snapshot cannot be read: {error}).\n"
            "Record the run again:\n    quickfit run YOUR_SCRIPT.py"
        ) from error
    return Snapshot(row["at_s"], row["gaps"], row["gap_s"], root.id, nodes)


def _node(item: list[Any]) -> Node:
    fields = [*item[:11], tuple(item[11])]
    return Node(*fields)


# Operations under the kind that runs for them.
_RUNS_AS = {"densetoragged": "map", "legacyrebatch": "rebatch", "copytodevice": "generator"}
# Never more than a name for what feeds them, or a note to the runtime.
_WITHOUT_STAGE = ("options", "restructured", "variant", "datasetv1adapter")
# What an operation does when this fact has this value: nothing.
_NOTHING_DONE: dict[str, tuple[str, Any]] = {
    "map": ("is_identity", True),
    "take": ("count", -1),
    "skip": ("count", 0),
    "repeat": ("count", 1),
    "shard": ("num_shards", 1),
}
_VERSION = re.compile(r"(dataset|v\d)+$")


@dataclass(frozen=True)
class Operation:
    """One dataset operation as it was written."""

    id: int
    kind: str
    file: str | None
    line: int | None
    inputs: tuple[int, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def made_by_function(self) -> tuple[int, ...]:
        """The chains that the function of this operation builds while the pipeline runs."""
        sub = self.facts.get("sub")
        return tuple(n for n in (sub if isinstance(sub, list) else [sub]) if isinstance(n, int))

    @property
    def runs_as(self) -> str:
        """The kind of the stage that carries out this operation."""
        return _RUNS_AS.get(self.kind, self.kind)

    @property
    def does_nothing(self) -> bool:
        """Tell whether tf.data drops this operation, because it changes nothing."""
        name, value = _NOTHING_DONE.get(self.kind, ("", None))
        return self.kind in _WITHOUT_STAGE or (name != "" and self.facts.get(name) == value)


def operation_kind(class_name: str) -> str:
    """Return the kind of a dataset class: `ParallelMap` is a `map`."""
    return _VERSION.sub("", class_name.strip("_").removeprefix("Parallel").lower())
