"""What a step is called with: a batch, stacked batches, or an iterator."""

from __future__ import annotations

from collections import abc
from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.stepping.feeding import Batch

_NAMES = {2: "(x, y)", 3: "(x, y, sample_weight)"}

# Datasets, iterators and models are `Any`: TensorFlow and Keras have no types of their own.


def is_iterator(x: Any) -> bool:
    """Tell whether batches come one by one, from TensorFlow or from Python.

    Raises:
        UsageError: it is a dataset, of which each call would take the first batch.
    """
    import tensorflow as tf

    if isinstance(x, (tf.data.Dataset, tf.distribute.DistributedDataset)):
        raise UsageError(
            "step() was given a dataset, which would start anew at every call. Make its iterator "
            "once, `iterator = iter(dataset)`, and call step(iterator); or go through all of it: "
            "for logs in step.over(dataset)."
        )
    return isinstance(x, abc.Iterator) or is_in_graph(x)


def check_batches(batches: Any) -> None:
    """Refuse all of the data, `(x, y)`, where batches of it are wanted.

    Raises:
        UsageError: a tuple holds arrays; or a list does, which are not alike but equally long.
    """
    if not isinstance(batches, (tuple, list)) or not 2 <= len(batches) <= 3:
        return
    shapes = [tuple(getattr(one, "shape", ())) for one in batches]
    is_data = any(shapes)
    if isinstance(batches, list):  # may be batches of inputs alone
        are_alike = len({shape[1:] for shape in shapes}) == 1
        is_data = all(shapes) and not are_alike and len({shape[:1] for shape in shapes}) == 1
    if is_data:
        told = ", ".join(str(shape) if shape else "others" for shape in shapes)
        raise UsageError(
            f"step.over was given arrays of all data (of the shapes {told}), and takes batches of "
            f"them: step.over(tf.data.Dataset.from_tensor_slices({_NAMES[len(batches)]})"
            ".shuffle(10_000).batch(32))."
        )


def is_in_graph(iterator: Any) -> bool:
    """Tell whether an iterator is TensorFlow's, so that a graph can take batches from it."""
    import tensorflow as tf

    return isinstance(iterator, (tf.data.Iterator, tf.distribute.DistributedIterator))


def check_stacked(batches: Batch, model: Any, count: int) -> None:
    """Refuse batches that are not stacked along a new first axis of at most `count`."""
    import tensorflow as tf

    first = tf.nest.flatten(batches[0])[0]
    inputs = getattr(model, "inputs", None) or []
    is_short = any(len(first.shape) != len(one.shape) + 1 for one in inputs[:1])
    if is_short or first.shape[0] > count:
        raise UsageError(
            f"x has the shape {tuple(first.shape)}; with steps_per_call={count} a call takes up to "
            "that many batches stacked along a new first axis, (steps, batch, ...), or the "
            "iterator of a dataset: step(iter(dataset)), or: for logs in step.over(dataset)."
        )
