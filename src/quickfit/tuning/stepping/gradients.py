"""Gradients of a loss, and their sum over the replicas of a strategy."""

from __future__ import annotations

from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.stepping.telling import warn

# Tensors and variables are `Any`: TensorFlow and Keras have no types of their own.


def gradients_of(tape: Any, loss: Any, weights: list[Any]) -> list[Any]:
    """Return the gradient of the loss for each weight, None where the loss does not depend on it.

    Raises:
        UsageError: the loss depends on no weight at all.
    """
    gradients = list(tape.gradient(loss, [weight.value for weight in weights]))
    missing = [w.path for w, g in zip(weights, gradients, strict=True) if g is None]
    if len(missing) == len(weights):
        raise UsageError(
            "the loss does not depend on any trainable weight, so there is nothing to update. "
            "Where it is a function of your own, it must be computed from the model's output "
            "with TensorFlow or keras.ops, without NumPy, rounding or argmax."
        )
    if missing:
        warn(
            f"the loss does not depend on {len(missing)} of {len(weights)} trainable "
            f"weights, which stay as they are: {', '.join(missing[:3])}"
            f"{' ...' if len(missing) > 3 else ''}. Set `trainable = False` on their layers to "
            "silence this.",
        )
    return gradients


def added_over_replicas(tensors: list[Any]) -> list[Any]:
    """Return the sums over all replicas, in a replica; None stays None."""
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return tensors
    present = [one for one in tensors if one is not None]
    sums = iter(context.all_reduce(tf.distribute.ReduceOp.SUM, present))
    return [None if one is None else next(sums) for one in tensors]
