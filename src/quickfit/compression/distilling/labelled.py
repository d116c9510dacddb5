"""Labelled data of any kind for a training in epochs, in an order that depends on the seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.calibrating.inputs import described, fitted, inputs_of
from quickfit.compression.calibration import Samples
from quickfit.compression.graph import Graph
from quickfit.errors import UsageError

# Data are `Any`: arrays and structures of them, datasets of TensorFlow and Keras.

BATCH = 32
KINDS = (
    "arrays in a tuple (x, y), a tf.data.Dataset of batches (x, y), a keras.utils.PyDataset or a "
    "list of batches"
)


@dataclass(frozen=True)
class Labelled:
    """Data to train or to judge a model with.

    Args:
        feed: what `fit` and `evaluate` take.
        first: the first batch: (x, y), or (x, y, weights).
        begin: to be called with the number of an epoch before it.
    """

    feed: Any
    first: tuple[Any, ...]
    begin: Callable[[int], None] = lambda epoch: None


def labelled(graph: Graph, data: Any, *, what: str, seed: int | None) -> Labelled:
    """Return data as they can be read again and again.

    Args:
        graph: of the model that they are for.
        data: arrays in a tuple, a dataset, a PyDataset, or a list of batches.
        what: what they are called in messages, such as `data`.
        seed: puts samples of arrays, and batches of lists and PyDatasets, into another order in
            every epoch. None: they stay in their order.

    Raises:
        UsageError: they are of another kind, end never or after one reading, are empty, have no
            labels, or do not fit the model.
    """
    import keras

    if isinstance(data, tuple):
        return _of_arrays(graph, data, what, seed)
    if isinstance(data, keras.utils.PyDataset):
        return _of_batches(graph, data, _count(data, what), what, seed)
    if isinstance(data, list):
        return _of_batches(graph, data, len(data), what, seed)
    if hasattr(data, "element_spec") and hasattr(data, "cardinality"):
        return _of_dataset(graph, data, what)
    raise UsageError(_unknown(data, what))


def _of_dataset(graph: Graph, data: Any, what: str) -> Labelled:
    if int(data.cardinality()) == -1:  # tf.data.INFINITE_CARDINALITY
        raise UsageError(_endless(what))
    return Labelled(data, _checked(graph, next(iter(data), None), what))


def _of_arrays(graph: Graph, data: tuple[Any, ...], what: str, seed: int | None) -> Labelled:
    import keras

    x, *rest = _checked(graph, data, what)
    arrays = Samples(tuple(fitted(inputs_of(graph), x) or ())).given_to(graph)
    whole = (arrays, *(keras.tree.map_structure(np.asarray, one) for one in rest))
    lengths = sorted({len(leaf) for leaf in keras.tree.flatten(whole)})
    if len(lengths) > 1 or not lengths[0]:
        raise UsageError(
            f"{what}: samples and labels must be as many, one at least, and there are "
            f"{' and '.join(map(str, lengths))}."
        )

    def take(rows: Any) -> Any:
        return keras.tree.map_structure(lambda leaf: leaf[rows], whole)

    feed, begin = _in_order(take, lengths[0], BATCH, seed)
    return Labelled(feed, take(np.arange(min(BATCH, lengths[0]))), begin)


def _of_batches(graph: Graph, data: Any, count: int, what: str, seed: int | None) -> Labelled:
    first = _checked(graph, data[0] if count else None, what)
    feed, begin = _in_order(lambda rows: tuple(data[int(rows[0])]), count, 1, seed)
    if hasattr(data, "on_epoch_end"):  # where a PyDataset shuffles its samples
        feed.workers, feed.max_queue_size = data.workers, data.max_queue_size
        feed.on_epoch_end = data.on_epoch_end
    return Labelled(feed, first, begin)


def _count(data: Any, what: str) -> int:
    """Return how many batches a PyDataset has."""
    try:
        count = data.num_batches
    except NotImplementedError:  # it has no `__len__`
        count = None
    if count is None:
        raise UsageError(_endless(what))
    return int(count)


def _in_order(
    take: Callable[[Any], Any], count: int, unit: int, seed: int | None
) -> tuple[Any, Callable[[int], None]]:
    """Return a PyDataset of batches of `unit` rows, and how to put it into the next order."""
    import keras

    order = np.arange(count)
    # In training a rest is left out: another one in every epoch. Alone in a batch a sample would
    # be normalized to nothing.
    batches = count // unit if seed is not None else -(-count // unit)

    class InOrder(keras.utils.PyDataset):  # type: ignore[misc]  # Keras has no types
        def __len__(self) -> int:
            return max(1, batches)

        def __getitem__(self, index: int) -> Any:
            return take(order[index * unit : (index + 1) * unit])

    def begin(epoch: int) -> None:
        if seed is not None:
            order[:] = np.random.default_rng([seed, epoch]).permutation(count)

    return InOrder(), begin


def _checked(graph: Graph, batch: Any, what: str) -> tuple[Any, ...]:
    """Return a batch that has labels and fits the model."""
    if batch is None:
        raise UsageError(f"{what} is empty: there is nothing to train with. Give {KINDS}.")
    if not isinstance(batch, tuple | list) or not 2 <= len(batch) <= 3:
        raise UsageError(
            f"{what} has no labels: {described(batch)} came, and (x, y) or (x, y, weights) is "
            f"needed. It may be {KINDS}."
        )
    if fitted(inputs_of(graph), batch[0]) is None:
        takes = " and ".join(f"'{one.name}' {one.shape}" for one in inputs_of(graph))
        raise UsageError(
            f"{what} does not fit the model '{graph.name}': it takes {takes}, and "
            f"{described(batch[0])} came. The first axis counts the samples; a dataset must be in "
            "batches: dataset.batch(32)"
        )
    return tuple(batch)


def _endless(what: str) -> str:
    return (
        f"{what} never ends, or does not say where, so an epoch would not either. Give a part of "
        "it, dataset.take(number_of_batches), or a PyDataset with __len__."
    )


def _unknown(data: Any, what: str) -> str:
    if isinstance(data, Iterator):
        return (
            f"{what} is a {type(data).__name__}, which is used up after one epoch. Put its batches "
            "into a list, or use a tf.data.Dataset or a keras.utils.PyDataset."
        )
    if isinstance(data, Mapping) or hasattr(data, "shape"):
        return f"{what} has no labels: {described(data)} came. Give {KINDS}."
    return f"{what} is {KINDS}; {described(data)} came."
