"""How many samples fit into memory while a model runs on all of them at once."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from quickfit.compression.graph import Graph
from quickfit.compression.walking.shapes import specs_from

if TYPE_CHECKING:
    from quickfit.compression.calibration import Samples

# Room for the values between the layers. Images of usual size stay far below it with all samples.
ROOM_BYTES = 1 << 30


def affordable(graph: Graph, samples: "Samples", room_bytes: int = ROOM_BYTES) -> "Samples":
    """Return as many of the samples as a `Running` of this model holds in `room_bytes`."""
    return samples.first(max(1, room_bytes // max(1, _peak_bytes(graph, samples))))


def _peak_bytes(graph: Graph, samples: "Samples") -> int:
    """Return the largest number of bytes per sample that are alive between two calls."""
    sizes = _bytes_per_sample(graph, samples)
    last = {number: place for place, call in enumerate(graph.calls) for number in call.inputs}
    alive, peak = set(graph.inputs), 0
    for place, call in enumerate(graph.calls):
        alive.update(call.outputs)
        peak = max(peak, sum(sizes[number] for number in alive))
        alive = {number for number in alive if last.get(number, -1) > place}
    return peak


def _bytes_per_sample(graph: Graph, samples: "Samples") -> dict[int, int]:
    import keras

    given = {
        number: keras.KerasTensor((1, *array.shape[1:]), dtype=graph.dtype_of(number))
        for number, array in zip(graph.inputs, samples.arrays, strict=True)
    }
    specs = specs_from(graph.calls, given)
    return {number: _bytes(spec) for number, spec in specs.items()}


def _bytes(spec: Any) -> int:
    try:
        width = np.dtype(spec.dtype).itemsize
    except TypeError:
        width = 2 if spec.dtype == "bfloat16" else 8
    return int(width * math.prod(size or 1 for size in spec.shape))
