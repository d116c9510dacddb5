"""Looks at what a step begins with: weights, inputs, labels and their weights."""

from __future__ import annotations

from typing import Any

from quickfit.tuning.numerics import hints
from quickfit.tuning.numerics.culprit import Culprit
from quickfit.tuning.numerics.step import Step
from quickfit.tuning.numerics.tally import is_all_finite, tally

# Tensors are `Any`: TensorFlow has no types of its own.


def bad_weight(step: Step) -> Culprit | None:
    """Return the first weight that is not finite, statistics of layers included."""
    for weight in step.model.weights:
        if not is_all_finite(weight.value):
            hint = hints.of_weight(step.learning_rate())
            return Culprit("weight", weight.path, tally(weight.value), hint)
    return None


def bad_input(step: Step) -> Culprit | None:
    """Return the first input that is not finite."""
    return _first_bad("input", named(step.x, "x"))


def bad_label(step: Step) -> Culprit | None:
    """Return the first of labels and sample weights that is not finite."""
    return _first_bad("label", [*named(step.y, "y"), *named(step.sample_weight, "sample_weight")])


def named(structure: Any, name: str) -> list[tuple[str, Any]]:
    """Return the leaves of a nested structure with the names one would write for them."""
    if structure is None:
        return []
    if isinstance(structure, dict):
        parts = [named(one, f"{name}[{key!r}]") for key, one in structure.items()]
        return [leaf for part in parts for leaf in part]
    if isinstance(structure, list | tuple):
        parts = [named(one, f"{name}[{index}]") for index, one in enumerate(structure)]
        return [leaf for part in parts for leaf in part]
    return [(name, structure)]


def _first_bad(kind: str, leaves: list[tuple[str, Any]]) -> Culprit | None:
    for name, value in leaves:
        if not is_all_finite(value):
            return Culprit(kind, name, tally(value), hints.of_input(name))
        culprit = _overflowing(kind, name, value)
        if culprit is not None:
            return culprit
    return None


def _overflowing(kind: str, name: str, value: Any) -> Culprit | None:
    """Return a float64 leaf that Keras would turn into Inf."""
    import keras
    import tensorflow as tf

    target = keras.config.floatx()
    if getattr(value, "dtype", None) != tf.float64 or target == "float64":
        return None
    cast = tf.cast(value, target)
    if is_all_finite(cast):
        return None
    given = tally(value)
    hint = hints.of_overflowing_input(given.largest, target)
    return Culprit(kind, name, tally(cast), hint, given=(("before", given),))
