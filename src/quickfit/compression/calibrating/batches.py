"""Calibration data of any kind as batches: one array per input of the model, labels dropped."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from quickfit.compression.calibrating.inputs import (
    Wanted,
    described,
    misfit,
    unlabelled,
)
from quickfit.errors import UsageError

KINDS = (
    "arrays, a tuple (x, y), a dict of arrays, a tf.data.Dataset, a keras.utils.PyDataset or an "
    "iterable of batches"
)


def batches_of(wanted: list[Wanted], data: Any, limit: int, seed: int) -> Iterator[list[Any]]:
    """Yield batches of `data`, in an order that depends on nothing but `seed`.

    Arrays and PyDatasets, which can be read anywhere, are read in random places: data sorted by
    class would show one class only. Everything else is read from its beginning.

    Raises:
        UsageError: the data are of a kind that is not known, or do not fit the model.
    """
    import keras

    arrays = None if _is_list_of_batches(wanted, data) else _whole(wanted, data)
    if arrays is not None:
        yield _picked(arrays, limit, seed)
        return
    if isinstance(data, keras.utils.PyDataset):
        stream: Iterable[Any] = _turns(data, seed)
    elif isinstance(data, str | bytes | Mapping) or hasattr(data, "shape"):
        raise _unknown(wanted, data)
    elif isinstance(data, Iterable):
        stream = data
    else:
        raise _unknown(wanted, data)
    for batch in stream:
        fitting = unlabelled(wanted, batch)
        if fitting is None:
            raise misfit(wanted, batch)
        yield fitting


def _whole(wanted: list[Wanted], data: Any) -> list[Any] | None:
    """Return all samples, where `data` are arrays."""
    if isinstance(data, tuple | list | Mapping) or hasattr(data, "shape"):
        return unlabelled(wanted, data)
    return None


def _is_list_of_batches(wanted: list[Wanted], data: Any) -> bool:
    """Whether every item of a list is a batch by itself: then it is neither (x, y) nor inputs."""
    if not isinstance(data, list) or not data:
        return False
    return all(unlabelled(wanted, item) is not None for item in data)


def _picked(arrays: list[Any], limit: int, seed: int) -> list[Any]:
    count = len(arrays[0])
    if count <= limit:
        return arrays
    places = np.sort(np.random.default_rng(seed).choice(count, limit, replace=False))
    return [array[places] for array in arrays]


def _turns(data: Any, seed: int) -> Iterator[Any]:
    """Yield the batches of a PyDataset in random order; in its own where it has no end."""
    count = data.num_batches
    order = itertools.count() if count is None else np.random.default_rng(seed).permutation(count)
    for index in order:
        yield data[int(index)]


def _unknown(wanted: list[Wanted], data: Any) -> UsageError:
    if isinstance(data, str | bytes):
        return UsageError(f"Calibration data are {KINDS}; a string came: {data!r}.")
    if isinstance(data, Mapping) or hasattr(data, "shape"):
        return misfit(wanted, data)
    return UsageError(f"Calibration data are {KINDS}; {described(data)} came.")
