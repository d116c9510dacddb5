"""One moment of a pipeline, as plain numbers: the nodes of tf.data's model.

tf.data counts, for every node, the elements it made, the time it worked and the bytes it
passed on. The counters only grow, so two snapshots give exact rates.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
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
