"""Arrays `(x, y)` as a feed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from quickfit.errors import ModelError
from quickfit.tuning.trials.answers import DataKind
from quickfit.tuning.trials.seeds import SEED

_NAMES = ("x", "y", "sample_weight")


class ArrayFeed:
    """Arrays in batches; see `Feed`.

    Args:
        arrays: one to three nests: x, y, sample weights.
        batch: samples per step.

    Raises:
        ModelError: there are no samples, or not the same number in all of them.
    """

    def __init__(self, arrays: tuple[Any, ...], batch: int) -> None:  # Any: nests of arrays
        self._arrays = arrays
        self._length = _length(arrays)
        self.samples: int | None = self._length
        self.kind = DataKind.ARRAYS
        self.first_s = 0.0
        self.has_labels = len(arrays) > 1
        self.batch = min(batch, self._length)  # as `fit` does it

    def arguments(self) -> dict[str, Any]:
        """Return what to give `fit` to train on it as the user does."""
        return {**dict(zip(_NAMES, self._arrays, strict=False)), "batch_size": self.batch}

    def exactly(self, steps: int) -> dict[str, Any]:
        """Return what to give `fit` so that one epoch is so many steps from the beginning."""
        order = self._order(steps * self.batch)
        taken = (_mapped(part, lambda array: array[order]) for part in self._arrays)
        named = dict(zip(_NAMES, taken, strict=False))
        return {**named, "batch_size": self.batch, "shuffle": False}

    def rest(self) -> dict[str, Any] | None:
        """Return what to give `fit` for one batch as small as the last of an epoch, if it is."""
        count = self._length % self.batch
        if not count:
            return None
        taken = (_mapped(part, lambda array: array[:count]) for part in self._arrays)
        return {**dict(zip(_NAMES, taken, strict=False)), "batch_size": self.batch}

    def batches(self) -> Iterator[Any]:
        """Yield batches from the beginning."""
        # Mixed, as `fit` does it: arrays are often sorted by class.
        order = self._order(self._length)
        for first in range(0, self._length, self.batch):
            rows = order[first : first + self.batch]
            yield tuple(_mapped(part, lambda array: array[rows]) for part in self._arrays)  # noqa: B023 - called here

    def _order(self, samples: int) -> Any:
        random = np.random.default_rng(SEED)
        epochs = -(-samples // self._length)
        return np.concatenate([random.permutation(self._length) for _ in range(epochs)])[:samples]


def as_arrays(data: Any) -> tuple[Any, ...] | None:
    """Return data as one to three nests of arrays, or None where it is something else."""
    parts = tuple(data) if isinstance(data, tuple | list) else (data,)
    if not 1 <= len(parts) <= len(_NAMES):
        return None
    if len(parts) == len(_NAMES) and parts[2] is None:
        parts = parts[:2]
    arrays = tuple(_mapped(part, _array) for part in parts)
    return arrays if all(leaf is not None for leaf in _leaves(arrays)) else None


def size_bytes(arrays: tuple[Any, ...]) -> int:
    """Return the memory of arrays."""
    return sum(int(leaf.nbytes) for leaf in _leaves(arrays))


def _array(value: Any) -> Any:
    """Return tensors, frames and arrays as an array; None for anything else."""
    if isinstance(value, np.ndarray):
        return value
    if not hasattr(value, "shape") or not hasattr(value, "__array__"):
        return None
    return np.asarray(value)


def _mapped(nest: Any, change: Any) -> Any:
    if isinstance(nest, dict):
        return {name: _mapped(part, change) for name, part in nest.items()}
    if isinstance(nest, tuple):
        return tuple(_mapped(part, change) for part in nest)
    if isinstance(nest, list):
        return [_mapped(part, change) for part in nest]
    return change(nest)


def _leaves(nest: Any) -> list[Any]:
    if isinstance(nest, dict):
        return [leaf for part in nest.values() for leaf in _leaves(part)]
    if isinstance(nest, tuple | list):
        return [leaf for part in nest for leaf in _leaves(part)]
    return [nest]


def _length(arrays: tuple[Any, ...]) -> int:
    lengths = {leaf.shape[0] if leaf.ndim else 0 for leaf in _leaves(arrays)}
    if len(lengths) > 1:
        raise ModelError(f"the arrays differ in length: {sorted(lengths)}.")
    if lengths in (set(), {0}):
        raise ModelError("the arrays of the data are empty: there is nothing to train on.")
    return int(lengths.pop())
