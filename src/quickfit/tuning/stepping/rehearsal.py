"""A step played through on shapes alone, so that everything exists before it is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.tuning.stepping.graph import Parts
    from quickfit.tuning.stepping.scoring import Batch

# Tensors and models are `Any`: TensorFlow and Keras have no types of their own.


def rehearse(parts: Parts, batch: Batch, forward: Callable[[Batch], Any]) -> None:
    """Let losses and metrics make their variables, from the shapes of a batch.

    Keras makes them when it first sees labels and outputs. A replica, or a branch of a compiled
    step, is too late for that. Nothing is computed, and no variable of the model is changed.
    """
    import keras

    failed: list[Exception] = []

    def play(played: Batch) -> Any:
        try:
            outputs = forward(played)
            if parts.scores.has_loss:
                parts.scores.loss(played, outputs)
            parts.scores.update(played, outputs)
        except Exception as error:
            failed.append(error)
            raise
        return outputs

    shapes = keras.tree.map_structure(_symbolic, batch)
    layer = keras.layers.Layer(name="rehearsal")
    layer.call = play
    with parts.strategy.scope():
        try:
            layer.compute_output_spec(shapes)
        except Exception:
            if failed:  # Keras would put words about a layer that nobody wrote around it
                raise failed[0] from failed[0].__cause__
            raise


def _symbolic(leaf: Any) -> Any:
    import keras
    import tensorflow as tf

    if leaf is None:
        return None
    dtype = keras.config.floatx() if leaf.dtype == tf.float64 else leaf.dtype.name
    kind = {}
    if isinstance(leaf, (tf.SparseTensor, tf.SparseTensorSpec)):
        kind = {"sparse": True}
    elif isinstance(leaf, (tf.RaggedTensor, tf.RaggedTensorSpec)):
        kind = {"ragged": True}
    return keras.KerasTensor(leaf.shape, dtype=dtype, **kind)
