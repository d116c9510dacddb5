"""A model with some of its convolutions in two halves: depthwise, then pointwise."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.graph import Call, Graph, fresh, rebuilt
from quickfit.compression.separable.splitting import split
from quickfit.compression.walking.copies import copy_flags
from quickfit.errors import ModelError


@dataclass(frozen=True, eq=False)
class Halves:
    """The two layers that stand in place of a convolution.

    Args:
        name: the name of the convolution.
        layer: the convolution itself: to read.
        depthwise: filters each channel by itself.
        pointwise: mixes the channels; bias and activation are here.
    """

    name: str
    layer: Any
    depthwise: Any
    pointwise: Any

    @property
    def rank(self) -> int:
        """How many filters every channel has."""
        return int(self.depthwise.depth_multiplier)

    def called(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        """Return what the halves make, called as the convolution was."""
        return self.pointwise(call.replay(self.depthwise, tensors))

    def set_kernels(self, depthwise: Any, pointwise: Any) -> None:
        """Give both halves new kernels; the pointwise one as (channels · rank, filters)."""
        for variable, values in (
            (self.depthwise.kernel, depthwise),
            (self.pointwise.kernel, pointwise[None, None]),
        ):
            assign(variable, values)


def assign(variable: Any, values: Any) -> None:
    """Store values in a variable, in its own dtype."""
    import keras

    variable.assign(keras.ops.cast(np.asarray(values, np.float32), variable.dtype))


def halved(graph: Graph, ranks: Mapping[str, int]) -> tuple[Any, list[Halves]]:
    """Return the model with some convolutions in halves, split by their weights alone.

    Args:
        graph: the graph of the model.
        ranks: how many filters per channel, by name of convolution.

    Returns:
        The new model, and its halves in the order of `ranks`.
    """
    names = _Names((call.name for call in graph.calls), graph.input_names)
    made: dict[str, Halves] = {}

    def make(call: Call, tensors: tuple[Any, ...]) -> Any:
        if call.name not in ranks:
            return None
        halves = made.get(call.name)
        if halves is not None:
            return halves.called(call, tensors)
        halves = made[call.name] = _halves(graph, call, ranks[call.name], names)
        result = halves.called(call, tensors)
        _fill(call, halves)
        return result

    model = rebuilt(graph, make)
    return model, [made[name] for name in ranks]


def _halves(graph: Graph, call: Call, rank: int, names: "_Names") -> Halves:
    import keras

    layer = call.layer
    # Keras calls an output after the layer that makes it, and losses are given by these names.
    is_output = any(c.outputs[0] in graph.outputs for c in graph.calls_of(layer))
    pointwise = fresh(
        layer,
        name=call.name if is_output else names.free(f"{call.name}_pointwise"),
        kernel_size=(1, 1),
        strides=(1, 1),
        dilation_rate=(1, 1),
        padding="valid",
        kernel_initializer="zeros",
    )
    depthwise = keras.layers.DepthwiseConv2D(
        layer.kernel_size,
        strides=layer.strides,
        padding=layer.padding,
        dilation_rate=layer.dilation_rate,
        depth_multiplier=rank,
        data_format=layer.data_format,
        use_bias=False,
        depthwise_initializer="zeros",
        depthwise_regularizer=layer.kernel_regularizer,
        name=names.free(f"{call.name}_depthwise"),
        dtype=pointwise.dtype_policy,
    )
    return Halves(call.name, layer, depthwise, pointwise)


def _fill(call: Call, halves: Halves) -> None:
    """Give the built halves their weights and flags."""
    kernel = np.asarray(call.layer.kernel, np.float64)
    if not np.isfinite(kernel).all():
        raise ModelError(
            f"The convolution '{call.name}' cannot be rewritten: its kernel holds values that are "
            "not finite (NaN or infinity). Take weights from before the training went wrong."
        )
    halves.set_kernels(*split(kernel, halves.rank))
    if call.layer.use_bias:
        halves.pointwise.bias.assign(call.layer.bias)
    for half in (halves.depthwise, halves.pointwise):
        copy_flags(call.layer, half, trainable=call.trainable)


class _Names:
    def __init__(self, *taken: Iterable[str]) -> None:
        self._taken = {name for names in taken for name in names}

    def free(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        return name
