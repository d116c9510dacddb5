"""Layers of Keras with their kernels rounded to what small integers can stand for.

Gradients pass the rounding as if it were not there, so they are trained like all others.
"""

from __future__ import annotations

from typing import Any

# A subclass needs its base. Nothing imports this module but functions that have a model already.
import keras  # noqa: TID253

# Layers and tensors are `Any`: Keras has no types of its own.


class _FakeKernel:
    """What layers with a rounded kernel have in common; mixed into those of Keras.

    Args:
        weight_bits: of the integers; 8 gives 255 steps, as many below zero as above.
        options: of the layer of Keras.
    """

    # The axes of the kernel that one step size is for; each output channel has its own.
    _channel_axes: tuple[int, ...] = (-1,)

    def __init__(self, *args: Any, weight_bits: int = 8, **options: Any) -> None:
        super().__init__(*args, **options)
        self.weight_bits = weight_bits

    def get_config(self) -> dict[str, Any]:
        """Return what makes another one like it."""
        config: dict[str, Any] = super().get_config()  # type: ignore[misc]
        return {**config, "weight_bits": self.weight_bits}

    def rounded(self, kernel: Any) -> Any:
        """Return the kernel as integers of so many bits can hold it."""
        ops = keras.ops
        rank = len(kernel.shape)
        kept = {axis % rank for axis in self._channel_axes}
        others = [axis for axis in range(rank) if axis not in kept]
        largest = ops.max(ops.abs(kernel), axis=others, keepdims=True)
        step = ops.maximum(largest, 1e-9) / (2 ** (self.weight_bits - 1) - 1)
        steps = ops.round(kernel / step) * step
        return kernel + ops.stop_gradient(steps - kernel)

    def _finished(self, outputs: Any) -> Any:
        """Add the bias and apply the activation; channels are last."""
        layer: Any = self  # what it is mixed into has them
        outputs = outputs + layer.bias if layer.use_bias else outputs
        return layer.activation(outputs)


@keras.saving.register_keras_serializable(package="quickfit")
class FakeConv1D(_FakeKernel, keras.layers.Conv1D):  # type: ignore[misc]
    """A `Conv1D` with a rounded kernel."""

    def call(self, inputs: Any) -> Any:
        """Convolve with the rounded kernel."""
        padding = self.padding
        if padding == "causal":  # nothing of the future is seen
            past = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            inputs, padding = keras.ops.pad(inputs, [[0, 0], [past, 0], [0, 0]]), "valid"
        outputs = keras.ops.conv(
            inputs,
            self.rounded(self.kernel),
            strides=list(self.strides),
            padding=padding,
            dilation_rate=self.dilation_rate,
            data_format=self.data_format,
        )
        return self._finished(outputs)


@keras.saving.register_keras_serializable(package="quickfit")
class FakeConv2D(_FakeKernel, keras.layers.Conv2D):  # type: ignore[misc]
    """A `Conv2D` with a rounded kernel."""

    def call(self, inputs: Any) -> Any:
        """Convolve with the rounded kernel."""
        return self._finished(self.convolution_op(inputs, self.rounded(self.kernel)))


class _FakeDepthwise(_FakeKernel):
    _channel_axes = (-2, -1)

    def call(self, inputs: Any) -> Any:
        """Convolve each channel with its rounded kernel."""
        layer: Any = self  # what it is mixed into has them
        outputs = keras.ops.depthwise_conv(
            inputs,
            self.rounded(layer.kernel),
            strides=layer.strides,
            padding=layer.padding,
            dilation_rate=layer.dilation_rate,
            data_format=layer.data_format,
        )
        return self._finished(outputs)


@keras.saving.register_keras_serializable(package="quickfit")
class FakeDepthwiseConv1D(_FakeDepthwise, keras.layers.DepthwiseConv1D):  # type: ignore[misc]
    """A `DepthwiseConv1D` with a rounded kernel."""


@keras.saving.register_keras_serializable(package="quickfit")
class FakeDepthwiseConv2D(_FakeDepthwise, keras.layers.DepthwiseConv2D):  # type: ignore[misc]
    """A `DepthwiseConv2D` with a rounded kernel."""


@keras.saving.register_keras_serializable(package="quickfit")
class FakeConv2DTranspose(_FakeKernel, keras.layers.Conv2DTranspose):  # type: ignore[misc]
    """A `Conv2DTranspose` with a rounded kernel, whose filters are the last axis but one."""

    _channel_axes = (-2,)

    def call(self, inputs: Any) -> Any:
        """Convolve backwards with the rounded kernel."""
        outputs = keras.ops.conv_transpose(
            inputs,
            self.rounded(self.kernel),
            strides=list(self.strides),
            padding=self.padding,
            output_padding=self.output_padding,
            dilation_rate=self.dilation_rate,
            data_format=self.data_format,
        )
        return self._finished(outputs)


@keras.saving.register_keras_serializable(package="quickfit")
class FakeDense(_FakeKernel, keras.layers.Dense):  # type: ignore[misc]
    """A `Dense` with a rounded kernel."""

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """Multiply by the rounded kernel."""
        return self._finished(keras.ops.matmul(inputs, self.rounded(self.kernel)))


# What stands in for which layer of Keras: those of which LiteRT has an int8 form.
FAKES = {
    keras.layers.Conv1D: FakeConv1D,
    keras.layers.Conv2D: FakeConv2D,
    keras.layers.DepthwiseConv1D: FakeDepthwiseConv1D,
    keras.layers.DepthwiseConv2D: FakeDepthwiseConv2D,
    keras.layers.Conv2DTranspose: FakeConv2DTranspose,
    keras.layers.Dense: FakeDense,
}
PLAIN = {fake: plain for plain, fake in FAKES.items()}
