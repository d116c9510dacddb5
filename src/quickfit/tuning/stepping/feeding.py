"""Batches as a step takes them: tensors of the right type, as many labels as examples."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from quickfit.errors import UsageError
from quickfit.tuning.stepping.layouts import named_leaves
from quickfit.tuning.stepping.telling import warn

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
    x, y, sample_weight = (_tensors(n, one) for n, one in zip(_NAMES, batch, strict=True))
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
    warn(
        f"{' and '.join(wide)} {'are' if len(wide) > 1 else 'is'} float64 and cast to "
        f"{wanted} in every step: twice as many bytes are copied for nothing. To silence this, "
        f"make {'them' if len(wide) > 1 else 'it'} {wanted} where the data are loaded: "
        f"x.astype({wanted!r}).",
    )


def _tensors(name: str, value: Any) -> Any:
    import tensorflow as tf

    if isinstance(value, tf.Tensor) or value is None:
        return value
    if isinstance(value, np.ndarray):
        return _tensor(name, value)
    if isinstance(value, (list, tuple)) and _holds_numbers(value):
        return _tensor(name, value)
    return tf.nest.map_structure(lambda leaf: _tensor(name, leaf), value)


def _holds_numbers(value: Any) -> bool:
    """Tell whether a list is one array written out, not a list of inputs."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (Number, np.bool_))


def _tensor(name: str, leaf: Any) -> Any:
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
