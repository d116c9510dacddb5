"""Unlabelled data that show a transformation what the model sees: read once, kept in arrays."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.calibrating.batches import KINDS, batches_of
from quickfit.compression.calibrating.inputs import inputs_of
from quickfit.compression.calibrating.room import affordable
from quickfit.compression.calibrating.running import Running, activations
from quickfit.compression.graph import Graph, graph_of
from quickfit.errors import UsageError

__all__ = ["LIMIT", "Running", "Samples", "activations", "affordable", "samples_of"]

# Enough for least squares: every image brings hundreds of rows. More changes accuracies of
# refitted models by less than their spread over seeds.
LIMIT = 256


@dataclass(frozen=True)
class Samples:
    """Calibration data of one model, in memory.

    Args:
        arrays: one array per input of the model, in the order of `model.inputs`; the first axis
            counts the samples.
    """

    arrays: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.arrays[0])

    def batches(self, size: int = 64) -> Iterator[tuple[Any, ...]]:
        """Yield the samples in batches, one array per input."""
        for start in range(0, len(self), size):
            yield tuple(array[start : start + size] for array in self.arrays)

    def first(self, count: int) -> "Samples":
        """Return the first `count` samples."""
        return Samples(tuple(array[:count] for array in self.arrays))

    def given_to(self, graph: Graph) -> Any:
        """Return all samples in the structure that the model takes (a dict, a list, an array)."""
        import keras

        values = dict(zip(graph.inputs, self.arrays, strict=True))
        return keras.tree.map_structure(lambda ref: values[ref.number], graph.input_structure)


def samples_of(model: Any, data: Any, limit: int = LIMIT, *, seed: int = 0) -> Samples:
    """Read calibration data for a model; labels are dropped.

    Args:
        model: a Keras model or its graph; its inputs say what is data and what is a label.
        data: arrays, a tuple (x, y), a dict of arrays by input name, a `tf.data.Dataset`, a
            `keras.utils.PyDataset`, or any iterable of batches. Samples that were read before
            are taken as they are.
        limit: how many samples to keep at most. Not more than that is read: an endless dataset
            will do. A dataset should be shuffled: its first samples are taken.
        seed: picks the samples of arrays and PyDatasets.

    Raises:
        UsageError: the data do not fit the model, are empty, or of no kind that is known.
    """
    if limit < 1:
        raise UsageError(f"limit says how many samples to keep: 1 or more, and {limit!r} came.")
    if isinstance(data, Samples):
        return data.first(limit)
    graph = model if isinstance(model, Graph) else graph_of(model)
    wanted = inputs_of(graph)
    kept: list[list[Any]] = []
    count = 0
    for batch in batches_of(wanted, data, limit, seed):
        kept.append([array[: limit - count] for array in batch])
        count += len(kept[-1][0])
        if count >= limit:
            break
    if not count:
        raise UsageError(f"The calibration data are empty. Give {KINDS} with a sample at least.")
    return Samples(tuple(np.concatenate(parts) for parts in zip(*kept, strict=True)))
