"""Leaves out an update whose numbers are not finite, inside the graph, for the price of one norm.

    finite = is_finite(loss, gradients)
    apply_if_finite(lambda: optimizer.apply(gradients, weights), finite, skipped)

Both work eagerly, in a `tf.function` and under XLA.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

# Tensors and variables are `Any`: TensorFlow has no types of its own.


def is_finite(loss: Any, gradients: Sequence[Any]) -> Any:
    """Return a scalar tensor: True where the loss and all gradients are finite.

    Squares are added up, so a gradient above 1.8e19 in float32 counts as not finite, too: its
    square is what Adam and RMSprop keep, and an infinite slot never becomes finite again.

    Args:
        loss: of any shape; None where it is not known.
        gradients: tensors or `IndexedSlices`; None is left out, as optimizers do.
    """
    import tensorflow as tf

    sums: dict[Any, list[Any]] = {}
    for values in _floats([loss, *gradients]):
        # One pass over the values; `reduce_all(is_finite(…))` writes a tensor of booleans first.
        sums.setdefault(values.dtype, []).append(tf.nn.l2_loss(values))
    if not sums:
        return tf.constant(True)
    return tf.reduce_all(tf.stack([tf.math.is_finite(tf.add_n(each)) for each in sums.values()]))


def apply_if_finite(apply: Callable[[], None], finite: Any, counter: Any) -> None:
    """Call `apply` where `finite` is true; otherwise add one to `counter` and do nothing else.

    Args:
        apply: changes weights, slots and iterations. It must not create variables: build the
            optimizer before.
        finite: a scalar boolean tensor.
        counter: an integer variable that was made outside `tf.function`.
    """
    import tensorflow as tf

    def take() -> Any:
        apply()
        return tf.constant(0)

    def leave_out() -> Any:
        counter.assign_add(1)
        return tf.constant(0)

    tf.cond(finite, take, leave_out)


def _floats(tensors: Sequence[Any]) -> list[Any]:
    """Return the numbers of the tensors in types whose squares have room."""
    import tensorflow as tf

    found = []
    for tensor in tensors:
        if tensor is None:
            continue
        values = tensor.values if isinstance(tensor, tf.IndexedSlices) else tensor
        values = tf.convert_to_tensor(values)
        if values.dtype.is_complex:
            values = tf.abs(values)
        if values.dtype.is_floating:
            # In float16 the square of 256 is infinite.
            found.append(tf.cast(values, tf.float32) if values.dtype.size < 4 else values)
    return found
