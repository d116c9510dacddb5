"""Tells, inside the graph, whether an optimizer left the last update out."""

from __future__ import annotations

import sys
from typing import Any

# Tensors, variables and optimizers are `Any`: TensorFlow and Keras have no types of their own.


def leaves_out(optimizer: Any) -> bool:
    """Tell whether this optimizer leaves updates out that are not finite."""
    return is_guarded(optimizer) or scales(optimizer)


def is_guarded(optimizer: Any) -> bool:
    """Tell whether it is a `GuardedOptimizer`."""
    # Not imported for this: where nobody has loaded it, nobody has one, and Keras may be absent.
    module = sys.modules.get("quickfit.tuning.numerics.guarded")
    return module is not None and isinstance(optimizer, module.GuardedOptimizer)


def scales(optimizer: Any) -> bool:
    """Tell whether it is a `LossScaleOptimizer`."""
    import keras

    return isinstance(optimizer, keras.optimizers.LossScaleOptimizer)


def state_of(optimizer: Any) -> Any:
    """Return what `was_left_out` needs to know from before the update."""
    import tensorflow as tf

    if is_guarded(optimizer):
        return tf.identity(optimizer.counter.value)
    if not optimizer.built:  # nor is the model: the step builds both
        return tf.constant(optimizer.initial_scale, tf.float32)
    return tf.identity(optimizer.dynamic_scale.value)


def was_left_out(optimizer: Any, before: Any) -> Any:
    """Return a scalar tensor: True where the update since `state_of` was left out."""
    import tensorflow as tf

    if is_guarded(optimizer):
        return tf.not_equal(optimizer.counter.value, before)
    # Its own counter of good steps begins again at 0 after a bad one, and where the scale grows.
    restarted = tf.equal(optimizer.step_counter.value, 0)
    return tf.logical_and(restarted, optimizer.dynamic_scale.value <= before)
