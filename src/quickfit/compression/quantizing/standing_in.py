"""Makes the layers with rounded kernels from those of a model, and plain ones from these."""

from __future__ import annotations

from typing import Any

from quickfit.compression.walking.copies import copy_state

# Layers are `Any`: Keras has no types of its own.


def fake_like(layer: Any, *, weight_bits: int, activation: Any, name: str) -> Any:
    """Return a layer with a rounded kernel; not built yet, so without weights."""
    from quickfit.compression.quantizing.fake_kernels import FAKES

    config = {**_config_of(layer), "activation": activation, "name": name}
    return FAKES[type(layer)](**config, weight_bits=weight_bits)


def plain_like(layer: Any) -> Any:
    """Return the layer of Keras that a layer with a rounded kernel stood in for."""
    from quickfit.compression.quantizing.fake_kernels import PLAIN

    config = _config_of(layer)
    del config["weight_bits"]
    return PLAIN[type(layer)](**config, activation=layer.activation, name=layer.name)


def take_weights(plain: Any, fake: Any) -> None:
    """Give a plain layer, which is built, the weights of the other with the kernel rounded."""
    copy_state(fake, plain)
    plain.kernel.assign(fake.rounded(fake.kernel))


def separable_parts(layer: Any, *, weight_bits: int, activation: Any, name: str) -> tuple[Any, Any]:
    """Return a separable convolution as two layers with rounded kernels, not built yet."""
    from quickfit.compression.quantizing import fake_kernels

    rank = type(layer).__name__[-2:]
    depthwise = getattr(fake_kernels, f"FakeDepthwiseConv{rank}")(
        layer.kernel_size,
        strides=layer.strides,
        padding=layer.padding,
        dilation_rate=layer.dilation_rate,
        depth_multiplier=layer.depth_multiplier,
        use_bias=False,
        depthwise_regularizer=layer.depthwise_regularizer,
        depthwise_constraint=layer.depthwise_constraint,
        name=f"{name}_depthwise",
        weight_bits=weight_bits,
    )
    pointwise = getattr(fake_kernels, f"FakeConv{rank}")(
        layer.filters,
        1,
        use_bias=layer.use_bias,
        activation=activation,
        kernel_regularizer=layer.pointwise_regularizer,
        kernel_constraint=layer.pointwise_constraint,
        bias_regularizer=layer.bias_regularizer,
        bias_constraint=layer.bias_constraint,
        name=name,
        weight_bits=weight_bits,
    )
    return depthwise, pointwise


def take_separable(layer: Any, depthwise: Any, pointwise: Any) -> None:
    """Give the two parts, which are built, the weights of a separable convolution."""
    depthwise.kernel.assign(layer.depthwise_kernel)
    pointwise.kernel.assign(layer.pointwise_kernel)
    if layer.use_bias:
        pointwise.bias.assign(layer.bias)


def _config_of(layer: Any) -> dict[str, Any]:
    """Return the constructor's arguments but the activation and the name.

    Objects of the user's (regularizers, constraints) go over as they are: written down, they would
    not be found again. Initializers do not matter, the weights are given.
    """
    config = {key: value for key, value in layer.get_config().items() if key != "activation"}
    del config["name"]
    for key in config:
        if key.endswith("_initializer"):
            config[key] = "zeros"
        elif key.endswith(("_regularizer", "_constraint")):
            config[key] = getattr(layer, key)
    config["dtype"] = "float32"
    return config
