"""What a bad batch spoils besides the weights, and how it is put back."""

from __future__ import annotations

from typing import Any

# Models, tensors and variables are `Any`: TensorFlow and Keras have no types of their own.


class Spoilable:
    """The values, before a step, of what its forward pass and its metrics change.

    Args:
        model: its statistics (BatchNormalization and the like) and metrics are kept.
    """

    def __init__(self, model: Any) -> None:
        metrics = {id(one): one for one in model.metrics_variables}
        statistics = [one for one in model.non_trainable_variables if id(one) not in metrics]
        self._statistics = _values(statistics)
        self._metrics = _values(list(metrics.values()))

    def put_back_if(self, left_out: Any, *, only_if_bad: bool) -> None:
        """Put back what was before the step.

        Args:
            left_out: a scalar boolean tensor: whether to do it at all.
            only_if_bad: leave everything as it is where all of it is finite.
        """
        import tensorflow as tf

        def put_back() -> Any:
            wanted = ~self._are_finite() if only_if_bad else tf.constant(True)
            _put_back(wanted, self._statistics)
            # Metrics that have seen nothing else stay NaN: put back, they would claim a loss of 0.
            counted = [tf.reduce_any(value != 0) for _, value in self._metrics]
            _put_back(wanted & tf.reduce_any(counted), self._metrics)
            return tf.constant(0)

        tf.cond(left_out, put_back, lambda: tf.constant(0))

    def _are_finite(self) -> Any:
        import tensorflow as tf

        pairs = [*self._statistics, *self._metrics]
        return tf.reduce_all([tf.reduce_all(tf.math.is_finite(one)) for one, _ in pairs])


def _values(variables: list[Any]) -> list[tuple[Any, Any]]:
    """Return the variables that hold fractions, each with its value."""
    import tensorflow as tf

    kept = [one.value for one in variables if "float" in str(one.dtype)]
    return [(one, tf.identity(one)) for one in kept]


def _put_back(wanted: Any, pairs: list[tuple[Any, Any]]) -> None:
    import tensorflow as tf

    for variable, value in pairs:
        variable.assign(tf.where(wanted, value, variable))
