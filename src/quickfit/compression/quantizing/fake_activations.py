"""Activations rounded to what small integers can stand for, in a way that can be trained."""

from __future__ import annotations

from typing import Any

# A subclass needs its base. Nothing imports this module but functions that have a model already.
import keras  # noqa: TID253

# Layers and tensors are `Any`: Keras has no types of its own.

# How much of the old range stays at each training step. Weights move little in a step; at 0.95
# the range is that of the last twenty batches.
MOMENTUM = 0.95
# A range of nothing has no steps. Activations of zeros alone stay zeros in this one.
_LEAST_RANGE = 1e-5


@keras.saving.register_keras_serializable(package="quickfit")
class FakeQuant(keras.layers.Layer):  # type: ignore[misc]
    """Round activations to the steps of a range, which follows them during training.

    Args:
        bits: of the integers; 8 gives 256 steps.
        fixed: a range that never changes, such as that of a sigmoid.
        options: as of every layer.
    """

    def __init__(
        self, bits: int = 8, fixed: tuple[float, float] | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.bits = bits
        self.fixed = tuple(fixed) if fixed else None
        self.is_watching = False
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Make the two ends of the range."""
        low, high = self.fixed or (0.0, 0.0)
        self.low = self._end("low", low)
        self.high = self._end("high", high)

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Return the inputs, rounded."""
        import tensorflow as tf

        if self.fixed is None and (training or self.is_watching):
            self._follow(inputs)
        values = tf.cast(inputs, tf.float32)
        low, high = self.low.value, tf.maximum(self.high.value, self.low.value + _LEAST_RANGE)
        rounded = tf.quantization.fake_quant_with_min_max_vars(
            values, low, high, num_bits=self.bits
        )
        return tf.cast(rounded, inputs.dtype)

    def get_config(self) -> dict[str, Any]:
        """Return what makes another one like it."""
        return {**super().get_config(), "bits": self.bits, "fixed": self.fixed}

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape as it was."""
        return input_shape

    def _end(self, name: str, value: float) -> Any:
        start = keras.initializers.Constant(value)
        options = {"dtype": "float32", "trainable": False, "aggregation": "mean"}
        return self.add_weight(name=name, shape=(), initializer=start, **options)

    def _follow(self, inputs: Any) -> None:
        """Move the range towards that of a batch; while watching, widen it to hold the batch."""
        ops = keras.ops
        # Zero is always one of the steps: padding and ReLU give it.
        low = ops.cast(ops.minimum(ops.min(inputs), 0), "float32")
        high = ops.cast(ops.maximum(ops.max(inputs), 0), "float32")
        if self.is_watching:
            self.low.assign(ops.minimum(self.low, low))
            self.high.assign(ops.maximum(self.high, high))
            return
        self.low.assign(MOMENTUM * self.low + (1 - MOMENTUM) * low)
        self.high.assign(MOMENTUM * self.high + (1 - MOMENTUM) * high)
