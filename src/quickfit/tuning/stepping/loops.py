"""Several steps in one call: a loop inside the graph, over an iterator or stacked batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quickfit.tuning.stepping.feeding import Batch, as_batch

# Tensors and iterators of TensorFlow are `Any`: they have no types of their own.
Step = Callable[[Batch], Any]


def over_iterator(step: Step, iterator: Any, count: int) -> Any:
    """Step on up to `count` batches of an iterator and return the losses of those it had.

    A batch is fetched only when it is stepped on, so the next call goes on right after it.
    """
    import tensorflow as tf

    def one(taken: Any, losses: Any, _: Any) -> tuple[Any, Any, Any]:
        batch = iterator.get_next_as_optional()
        loss = tf.cond(
            batch.has_value(),
            lambda: tf.cast(step(as_batch(batch.get_value())), losses.dtype),
            lambda: tf.zeros((), losses.dtype),
        )
        losses = losses.write(taken, loss)
        return taken + tf.cast(batch.has_value(), "int32"), losses, batch.has_value()

    taken, losses, _ = tf.while_loop(
        lambda taken, losses, more: tf.logical_and(taken < count, more),
        one,
        (tf.constant(0), _empty(count), tf.constant(True)),
    )
    return losses.stack()[:taken]


def over_stack(step: Step, batches: Batch) -> Any:
    """Step on every batch of a stack, along its first axis, and return their losses."""
    import tensorflow as tf

    count = tf.shape(tf.nest.flatten(batches[0])[0])[0]

    def one(index: Any, losses: Any) -> tuple[Any, Any]:
        batch = tf.nest.map_structure(lambda leaf: leaf if leaf is None else leaf[index], batches)
        return index + 1, losses.write(index, tf.cast(step(batch), losses.dtype))

    _, losses = tf.while_loop(
        lambda index, losses: index < count, one, (tf.constant(0), _empty(count))
    )
    return losses.stack()


def _empty(count: Any) -> Any:
    import keras
    import tensorflow as tf

    return tf.TensorArray(keras.config.floatx(), size=count, element_shape=())
