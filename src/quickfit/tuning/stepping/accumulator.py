"""Gradients of several micro-batches, added up until they are applied as one update."""

from __future__ import annotations

from typing import Any

# Tensors and variables of TensorFlow are `Any`: they have no types of their own.


class Accumulator:
    """The sum of gradients that wait for their update, and of how many micro-batches it is.

    Keras's own `gradient_accumulation_steps` cannot apply what is left over when the data end,
    and its branch does not run under every `tf.distribute` strategy.

    Args:
        weights: what the gradients are for.
        strategy: the strategy under which they are computed; each replica keeps its own sum.
    """

    def __init__(self, weights: list[Any], strategy: Any) -> None:
        import tensorflow as tf

        with strategy.scope():
            self._sums = [_zeros_like(weight) for weight in weights]
        self._is_reached = [False] * len(weights)
        # Counted once for all replicas, so it belongs to none of them.
        self.pending = tf.Variable(0, trainable=False, dtype="int64", name="pending")

    def add(self, gradients: list[Any]) -> None:
        """Add the gradients of one micro-batch, in a replica; None adds nothing."""
        for index, gradient in enumerate(gradients):
            if gradient is not None:
                self._is_reached[index] = True
                self._sums[index].assign_add(_dense(gradient, self._sums[index]))

    def take_mean(self) -> list[Any]:
        """Return the mean over what is pending and start again at zero, in a replica."""
        import tensorflow as tf

        count = self.pending.read_value()
        means = [
            # A weight without a gradient is left alone: zero would still decay it.
            total.read_value() / tf.cast(count, total.dtype) if is_reached else None
            for total, is_reached in zip(self._sums, self._is_reached, strict=True)
        ]
        for total in self._sums:
            total.assign(tf.zeros(total.shape, total.dtype))
        return means


def _zeros_like(weight: Any) -> Any:
    import tensorflow as tf

    return tf.Variable(
        tf.zeros(weight.shape, weight.dtype),
        trainable=False,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
    )


def _dense(gradient: Any, like: Any) -> Any:
    """Return the gradient of an embedding as a whole tensor."""
    import tensorflow as tf

    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    empty = tf.zeros(like.shape, gradient.dtype)
    return tf.tensor_scatter_nd_add(empty, gradient.indices[:, tf.newaxis], gradient.values)
