"""Trains a model on a tiny batch that is made up, to see whether it can: nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quickfit.tuning.numerics.replay import unchanged
from quickfit.tuning.precision.layers import is_graph, is_sequential

# Models, layers and tensors of Keras are `Any`: Keras has no types of its own.

_EXAMPLES = 2
# For axes of any length: a small one, and one that a few poolings leave something of.
_LENGTHS = (4, 64)
_SIXTEEN = ("float16", "bfloat16")


class HalfLossError(TypeError):
    """A layer adds a loss in 16 bits, and Keras cannot add that to the others.

    Args:
        layer: of the model, not of its copy.
        dtype: of the loss.
    """

    def __init__(self, layer: Any, dtype: str) -> None:
        super().__init__(f"it adds a loss in {dtype}, and Keras sums losses in float32")
        self.layer = layer


def batch_for(model: Any, failures: tuple[type[Exception], ...]) -> Any:
    """Return inputs that a model can be trained on; None where none are found.

    Args:
        model: it is trained on them, and put back.
        failures: what it raises where it cannot be.
    """
    if not model.built or not getattr(model, "inputs", None):
        return None
    for length in _LENGTHS:
        try:
            batch = _batch(model, length)
            rehearse(model, batch)
        except failures:
            continue
        finally:
            model._clear_losses()  # what its layers added in the rehearsal
        return batch
    return None


def rehearse(model: Any, batch: Any) -> None:
    """Run a model forward and back, as in training; eagerly, so that an error names its place.

    The loss is left out, since labels are not known: what it gets is in float32 in any case.
    """
    import keras
    import tensorflow as tf

    with unchanged(model, None), tf.GradientTape() as tape:
        outputs = model(batch, training=True)
        floats = [one for one in keras.tree.flatten(outputs) if one.dtype.is_floating]
        parts = [tf.reduce_sum(tf.cast(one, tf.float32)) for one in (*floats, *model.losses)]
        total = tf.add_n(parts) if parts else None
    if total is not None:
        tape.gradient(total, [one.value for one in model.trainable_variables])


def require_whole_losses(pairs: Iterable[tuple[Any, Any]]) -> None:
    """Refuse what layers added to the loss in the last rehearsal, where it is in 16 bits.

    Raises:
        HalfLossError: one does.
    """
    for layer, twin in pairs:
        for loss in () if is_graph(layer) else twin.losses:
            if loss.dtype.name in _SIXTEEN:
                raise HalfLossError(layer, loss.dtype.name)


def _batch(model: Any, length: int) -> Any:
    import keras

    given = model.inputs[0] if is_sequential(model) else model._inputs_struct
    return keras.tree.map_structure(lambda one: _filled(one, length), given)


def _filled(given: Any, length: int) -> Any:
    """Return numbers for an input: zeros are ids that every table has."""
    import tensorflow as tf

    first, *rest = given.shape
    shape = [first or _EXAMPLES, *(length if one is None else one for one in rest)]
    dtype = tf.as_dtype(given.dtype)
    made = tf.ones(shape, dtype) if dtype.is_floating else tf.zeros(shape, dtype)
    return tf.sparse.from_dense(made) if given.sparse else made
