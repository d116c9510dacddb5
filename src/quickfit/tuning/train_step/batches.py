"""Batches as a step takes them: tensors of the right type, stacked, from an iterator, or per
replica.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import warnings
import weakref
from collections import abc
from numbers import Number
from typing import Any

import numpy as np

from quickfit import terminal
from quickfit.errors import UsageError
from quickfit.tuning.numerics.op_watch import named_leaves

# A batch holds whatever the user's data holds: arrays, tensors, lists and dicts of them.
Batch = tuple[Any, Any, Any]  # x, y, sample_weight
_NAMES = ("x", "y", "sample_weight")


def as_batch(element: Any) -> Batch:
    """Return an element of a dataset as x, y and sample weight."""
    if isinstance(element, list):
        element = tuple(element)  # as Keras reads it
    if not isinstance(element, tuple):
        return element, None, None
    if not 1 <= len(element) <= 3:
        raise UsageError(
            f"an element of the dataset has {len(element)} parts; a step takes x, (x, y) or "
            "(x, y, sample_weight). Several inputs belong into one list or dict: ((a, b), y)."
        )
    x, y, sample_weight = (*element, None, None)[:3]
    return x, y, sample_weight


def as_tensors(batch: Batch) -> Batch:
    """Return a batch with every array and number as a tensor, so that none is traced by value."""
    x, y, sample_weight = (_as_nested_tensors(n, one) for n, one in zip(_NAMES, batch, strict=True))
    return x, y, sample_weight


def check_sizes(batch: Batch, axis: int = 0) -> None:
    """Refuse a batch whose parts hold different numbers of examples."""
    sizes: dict[str, int] = {}
    for name, value in zip(_NAMES, batch, strict=True):
        for path, leaf in named_leaves(name, value):
            shape = getattr(leaf, "shape", None)
            if shape is not None and shape.rank is not None and shape.rank > axis:
                sizes[path] = shape[axis]
    if len({size for size in sizes.values() if size is not None}) > 1:
        held = ", ".join(f"{path} holds {size}" for path, size in sizes.items())
        raise UsageError(
            f"the parts of the batch differ in their number of examples: {held}. Each example "
            "needs its own label and weight: slice all of them alike, or zip them in one dataset."
        )
    if 0 in sizes.values():
        raise UsageError("the batch is empty: x holds 0 examples. Leave out empty batches.")


def as_floats(batch: Batch) -> Batch:
    """Return a batch with 64-bit numbers in Keras's float type, as its layers compute."""
    import keras
    import tensorflow as tf

    wanted = keras.config.floatx()

    def narrowed(leaf: Any) -> Any:
        return tf.cast(leaf, wanted) if getattr(leaf, "dtype", None) == tf.float64 else leaf

    narrow: Batch = keras.tree.map_structure(narrowed, batch)
    return narrow


def warn_of_wide_floats(batch: Batch) -> None:
    """Warn of 64-bit numbers, which a step has to cast."""
    import keras
    import tensorflow as tf

    wanted = keras.config.floatx()
    wide = [
        path
        for name, value in zip(_NAMES, batch, strict=True)
        for path, leaf in named_leaves(name, value)
        if getattr(leaf, "dtype", None) == tf.float64
    ]
    if not wide or wanted == "float64":
        return
    warn_user(
        f"{' and '.join(wide)} {'are' if len(wide) > 1 else 'is'} float64 and cast to "
        f"{wanted} in every step: twice as many bytes are copied for nothing. To silence this, "
        f"make {'them' if len(wide) > 1 else 'it'} {wanted} where the data are loaded: "
        f"x.astype({wanted!r}).",
    )


def _as_nested_tensors(name: str, value: Any) -> Any:
    import tensorflow as tf

    if isinstance(value, tf.Tensor) or value is None:
        return value
    if isinstance(value, np.ndarray):
        return _as_tensor(name, value)
    if isinstance(value, (list, tuple)) and _holds_numbers(value):
        return _as_tensor(name, value)
    return tf.nest.map_structure(lambda leaf: _as_tensor(name, leaf), value)


def _holds_numbers(value: Any) -> bool:
    """Tell whether a list is one array written out, not a list of inputs."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (Number, np.bool_))


def _as_tensor(name: str, leaf: Any) -> Any:
    import tensorflow as tf

    if tf.is_tensor(leaf) or leaf is None or isinstance(leaf, tf.distribute.DistributedValues):
        return leaf
    try:
        return tf.convert_to_tensor(leaf)
    except (ValueError, TypeError) as error:
        kind = f"an array of {leaf.dtype}" if hasattr(leaf, "dtype") else type(leaf).__name__
        raise UsageError(
            f"{name} is {kind}, of which no tensor can be made ({error}). A step takes arrays of "
            "numbers in one rectangular block: np.asarray(rows, dtype='float32'); several inputs "
            "in a list or dict."
        ) from error


_BATCH_PART_NAMES = {2: "(x, y)", 3: "(x, y, sample_weight)"}

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
            f"them: step.over(tf.data.Dataset.from_tensor_slices({_BATCH_PART_NAMES[len(batches)]})"
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


# Tensors and strategies are `Any`: TensorFlow has no types of its own.


def is_shared(batch: Batch) -> bool:
    """Tell whether each replica has its own part already, as from a distributed dataset."""
    import tensorflow as tf

    return any(isinstance(one, tf.distribute.DistributedValues) for one in tf.nest.flatten(batch))


def share_batch(batch: Batch, strategy: Any) -> Batch:
    """Return the batch with one part of its examples for each replica, as even as can be."""
    import tensorflow as tf

    replicas = strategy.num_replicas_in_sync
    examples = tf.nest.flatten(batch[0])[0].shape[0]
    if examples < replicas:
        raise UsageError(
            f"a batch of {examples} cannot be shared by {replicas} replicas: each needs an "
            "example. Make batches larger, or leave out the last one: "
            "dataset.batch(size, drop_remainder=True)."
        )
    ends = [examples * (one + 1) // replicas for one in range(replicas)]

    def part(leaf: Any, replica: int) -> Any:
        if leaf is None or not leaf.shape.rank:
            return leaf
        return leaf[ends[replica - 1] if replica else 0 : ends[replica]]

    def values(leaf: Any) -> Any:
        if leaf is None:
            return None
        return strategy.experimental_distribute_values_from_function(
            lambda context: part(leaf, context.replica_id_in_sync_group)
        )

    split: Batch = tf.nest.map_structure(values, batch)
    return split


def part_of_first_replica(value: Any, strategy: Any) -> Any:
    """Return what the first replica gets of a batch, or of the spec of one."""
    import tensorflow as tf

    def first(leaf: Any) -> Any:
        if isinstance(leaf, tf.distribute.DistributedValues):
            return strategy.experimental_local_results(leaf)[0]
        # The spec of a distributed dataset has one for each replica, and no public name for them.
        return leaf._value_specs[0] if hasattr(leaf, "_value_specs") else leaf

    return tf.nest.map_structure(first, value)


# A batch holds whatever the user's data holds: arrays, tensors, lists and dicts of them.


def shapes_of(value: Any) -> str:
    """Return the shapes of a value as text: `(32, 10)`, or one per name."""
    if value is None:
        return "None (no y was given)"
    leaves = list(named_leaves("", value))
    if len(leaves) == 1 and not leaves[0][0]:
        return _leaf_shape(value)
    return ", ".join(f"{name}: {_leaf_shape(one)}" for name, one in leaves)


def _leaf_shape(leaf: Any) -> str:
    shape = getattr(leaf, "shape", None)
    if shape is None or getattr(shape, "rank", 0) is None:
        return "unknown"
    return str(tuple("batch" if size is None else size for size in shape)).replace("'", "")


# What may run between a line of the user and the warning that it leads to.
_PACKAGES = ("quickfit", "tensorflow", "keras")
_MODULES = tuple(str(module.__file__) for module in (contextlib, threading, weakref))


def warn_user(text: str) -> None:
    """Warn of something, at the innermost line that is not of a library."""
    libraries = (*_MODULES, *_library_folders())
    level = 1
    frame = sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(libraries):
        frame = frame.f_back
        level += 1
    warnings.warn(f"quickfit: {terminal.escape(text)}", stacklevel=level)


def _library_folders() -> list[str]:
    files = [getattr(sys.modules.get(name), "__file__", None) for name in _PACKAGES]
    return [os.path.dirname(file) + os.sep for file in files if file]
