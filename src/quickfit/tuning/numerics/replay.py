"""Runs a step again for looking at it: eagerly, with everything put back afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Models, tensors and variables are `Any`: TensorFlow and Keras have no types of their own.


@contextmanager
def unchanged(model: Any, optimizer: Any) -> Iterator[None]:
    """Put back all variables afterwards: weights, statistics, seeds, metrics and slots."""
    import tensorflow as tf

    variables = _variables(model, optimizer)
    # Not copied: TensorFlow writes elsewhere while somebody holds the old value.
    values = [tf.identity(one) for one in variables]
    try:
        yield
    finally:
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)


@contextmanager
def eagerly() -> Iterator[None]:
    """Run every `tf.function` as plain Python, so that each value can be looked at."""
    import tensorflow as tf

    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)


def layers_of(model: Any) -> list[Any]:
    """Return the model and all layers in it."""
    return [model, *(layer for layer in model._flatten_layers() if layer is not model)]


def _variables(model: Any, optimizer: Any) -> list[Any]:
    import tensorflow as tf

    found = [one.value for one in (*model.variables, *getattr(model, "metrics_variables", []))]
    for layer in layers_of(model):  # variables of TensorFlow's own that a layer keeps
        found += [one for one in vars(layer).values() if isinstance(one, tf.Variable)]
    if optimizer is not None:
        found += [one.value for one in optimizer.variables]
    return list({id(one): one for one in found}.values())
