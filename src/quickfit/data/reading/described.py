"""Gives a dataset a text that a person can read, and what is known of its classes."""

from __future__ import annotations

from quickfit.data.graph import Dataset


def described(dataset: Dataset, text: str, **facts: object) -> Dataset:
    """Return the same dataset; `repr` tells the text, and the facts are attributes.

    Its class becomes one of its own that differs in nothing else: it stays a `tf.data.Dataset`.
    """
    kind = type(dataset)
    dataset.__class__ = type(kind.__name__, (kind,), {"__repr__": lambda _: text})
    for name, value in facts.items():
        setattr(dataset, name, value)
    return dataset


def with_length(dataset: Dataset, batches: int) -> Dataset:
    """Return the same dataset; it tells a length that TensorFlow need not hold it to.

    Where damaged records are left out, nobody knows the exact one. Without any, `fit` warns that
    the data ran out.
    """
    import tensorflow as tf

    def cardinality(_: Dataset) -> object:
        return tf.constant(batches, tf.int64)

    kind = type(dataset)
    dataset.__class__ = type(kind.__name__, (kind,), {"cardinality": cardinality})
    return dataset


def elements(dataset: Dataset) -> str:
    """Return what one element of the dataset is: `(32, 224, 224, 3) uint8, (32) int64`."""
    import tensorflow as tf

    return ", ".join(_element(spec) for spec in tf.nest.flatten(dataset.element_spec))


def _element(spec: object) -> str:
    shape, dtype = getattr(spec, "shape", None), getattr(spec, "dtype", None)
    if shape is None or dtype is None or shape.rank is None:
        return str(spec)
    sides = ", ".join("?" if side is None else str(side) for side in shape)
    return f"({sides}) {dtype.name}"
