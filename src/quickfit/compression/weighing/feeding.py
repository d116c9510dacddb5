"""Batches for models that are timed: from a few samples, as large as they have to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.calibrating.inputs import fitted, inputs_of, misfit
from quickfit.compression.calibration import Samples, samples_of
from quickfit.compression.graph import Graph
from quickfit.errors import UsageError

# Arrays are `Any`: they hold numbers of every type.


@dataclass(frozen=True)
class Feed:
    """A few samples, one array per input.

    Args:
        arrays: in the order of the inputs.
        names: the names of the inputs; empty where they are not known.
    """

    arrays: tuple[Any, ...]
    names: tuple[str, ...] = ()

    def rows(self, count: int) -> tuple[Any, ...]:
        """Return a batch of this size; samples come again where there are too few."""
        return tuple(array[np.arange(count) % len(array)] for array in self.arrays)

    def for_model(self, graph: Graph, count: int) -> Any:
        """Return a batch in the structure that a Keras model takes.

        Raises:
            UsageError: it takes other inputs than these.
        """
        arrays = fitted(inputs_of(graph), list(self.rows(count)))
        if arrays is None:
            raise misfit(inputs_of(graph), list(self.arrays))
        return Samples(tuple(arrays)).given_to(graph)

    def for_file(self, count: int) -> Any:
        """Return a batch as the runtime of `.tflite` files takes it."""
        rows = self.rows(count)
        return rows[0] if len(rows) == 1 else dict(zip(self.names, rows, strict=True))

    def open_sizes(self, graph: Graph) -> tuple[int, ...] | None:
        """Return the sizes that the samples have where the model leaves them open.

        None where there are none; also where inputs differ in them, and no one answer fits.
        """
        found = {
            tuple(size for size, want in zip(array.shape[1:], shape[1:], strict=True) if not want)
            for array, shape in self._with_shapes(graph)
        } - {()}
        return found.pop() if len(found) == 1 else None

    def _with_shapes(self, graph: Graph) -> list[tuple[Any, tuple[int | None, ...]]]:
        shapes = [graph.shape_of(number) for number in graph.inputs]
        arrays = fitted(inputs_of(graph), list(self.arrays)) or []
        return list(zip(arrays, shapes, strict=False))


def feed_of(graph: Graph | None, samples: Any, count: int) -> Feed:
    """Read samples once, for all candidates.

    Args:
        graph: of a Keras model among them, which tells inputs from labels.
        samples: data of any kind that `samples_of` takes; without a Keras model an array, (x, y),
            or a dict of arrays by input name.
        count: how many to keep at most.

    Raises:
        UsageError: the samples are empty, or do not fit the model.
    """
    if graph is not None:
        return Feed(samples_of(graph, samples, limit=count).arrays, graph.input_names)
    if isinstance(samples, Samples):
        parts: Mapping[str, Any] = {str(n): one for n, one in enumerate(samples.arrays)}
    elif isinstance(samples, Mapping):
        parts = samples
    else:
        parts = {"": samples[0] if isinstance(samples, tuple) and samples else samples}
    arrays = [np.asarray(one) for one in parts.values()]
    if not arrays or any(not one.ndim or not len(one) for one in arrays):
        raise UsageError("The samples are empty: give an array with a sample at least.")
    return Feed(tuple(one[:count] for one in arrays), tuple(parts))
