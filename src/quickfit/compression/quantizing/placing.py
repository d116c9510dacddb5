"""Places the roundings of int8 in a model: where the runtime of LiteRT will round, no more."""

from __future__ import annotations

from typing import Any

from quickfit.compression.graph import Graph
from quickfit.compression.made import Skipped
from quickfit.compression.quantizing.roles import (
    FIXED_RANGES,
    Role,
    activation_name,
    is_free,
    is_linear,
    is_rectifier,
    role_of,
    takes_rectifier,
    why_unknown,
)
from quickfit.compression.quantizing.standing_in import (
    fake_like,
    separable_parts,
    take_separable,
)
from quickfit.compression.walking.call import Call
from quickfit.compression.walking.copies import copy_state, fresh

# Layers and tensors are `Any`: Keras has no types of its own.


class Placing:
    """Makes the layers of a model that is trained for int8; given to `rebuilt`.

    Args:
        graph: of the model, with batch normalisation folded.
        bits: of activations.
        weight_bits: of kernels.
    """

    def __init__(self, graph: Graph, *, bits: int, weight_bits: int) -> None:
        self._skipped: dict[str, Skipped] = {}
        self._graph = graph
        self._bits = bits
        self._weight_bits = weight_bits
        self._layers: dict[int, Any] = {}  # the new ones, by the id of the old
        self._rounded: set[int] = set()  # tensors of the old model that have few values in the new
        self._roundings: dict[int, Any] = {}  # roundings of tensors that are not, made once
        self._names = {call.name for call in graph.calls} | set(graph.input_names)

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The layers with weights that stay in float."""
        return tuple(self._skipped.values())

    def __call__(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        """Return what stands in place of a call; None to copy it."""
        role = role_of(call)
        if role is Role.UNKNOWN:
            self._skip(call)
            return None
        if role is Role.MOVING:
            self._rounded.update(call.outputs if self._is_rounded(call.inputs) else ())
            return None
        if role is Role.RECTIFYING:
            return self._after(call, self._copied(call, tensors))
        given = tuple(map(self._round_first, call.inputs, tensors))
        if role is Role.MIXING:
            return self._after(call, self._copied(call, given))
        if role is Role.BENDING:
            return self._bent(call, self._copied(call, given), activation_name(call.layer))
        return self._weighted(call, given, is_separable=role is Role.SEPARABLE)

    def _weighted(self, call: Call, given: tuple[Any, ...], *, is_separable: bool) -> Any:
        import keras

        activation = call.layer.activation
        keeps = is_linear(activation) or (is_free(activation) and takes_rectifier(call.layer))
        own = activation if keeps else keras.activations.linear
        computed = (self._separable if is_separable else self._single)(call, given, own)
        if keeps:
            return self._after(call, computed)
        function = keras.layers.Activation(activation, name=self._name(f"{call.name}_activation"))
        bent = function(self._fake_quant(call.name)(computed))
        return self._bent(call, bent, getattr(activation, "__name__", ""))

    def _single(self, call: Call, given: tuple[Any, ...], activation: Any) -> Any:
        known = self._layers.get(id(call.layer))
        layer = known or fake_like(
            call.layer, weight_bits=self._weight_bits, activation=activation, name=call.name
        )
        result = call.replay(layer, given)
        if known is None:
            self._layers[id(call.layer)] = layer
            copy_state(call.layer, layer)
            layer.trainable = call.trainable
        return result

    def _separable(self, call: Call, given: tuple[Any, ...], activation: Any) -> Any:
        known = self._layers.get(id(call.layer))
        parts = known or separable_parts(
            call.layer, weight_bits=self._weight_bits, activation=activation, name=call.name
        )
        between = self._fake_quant(parts[0].name)(parts[0](given[0]))
        result = parts[1](between)
        if known is None:
            self._layers[id(call.layer)] = parts
            take_separable(call.layer, *parts)
            for part in parts:
                part.trainable = call.trainable
        return result

    def _copied(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        known = self._layers.get(id(call.layer))
        layer = known or fresh(call.layer, name=call.name)
        result = call.replay(layer, tensors)
        if known is None:
            self._layers[id(call.layer)] = layer
            if getattr(layer, "weights", None):
                copy_state(call.layer, layer)
                layer.trainable = call.trainable
        return result

    def _after(self, call: Call, computed: Any) -> Any:
        """Round a result, unless the runtime first does a ReLU on it."""
        (tensor,) = call.outputs
        self._rounded.add(tensor)
        if takes_rectifier(call.layer) and self._is_rectified_next(tensor):
            return computed
        return self._fake_quant(call.name)(computed)

    def _bent(self, call: Call, computed: Any, function: str) -> Any:
        """Round the result of an activation, unless it leaves the model: outputs are float."""
        (tensor,) = call.outputs
        if tensor in self._graph.outputs:
            return computed
        self._rounded.add(tensor)
        return self._fake_quant(call.name, fixed=FIXED_RANGES.get(function))(computed)

    def _is_rectified_next(self, tensor: int) -> bool:
        users = self._graph.users(tensor)
        is_output = tensor in self._graph.outputs
        return not is_output and len(users) == 1 and is_rectifier(users[0].layer)

    def _round_first(self, number: int, tensor: Any) -> Any:
        """Return an input rounded, where it is not yet and holds real numbers."""
        if number in self._rounded or not str(tensor.dtype).startswith("float"):
            return tensor
        if number not in self._roundings:
            producer = self._graph.producer(number)
            self._roundings[number] = self._fake_quant(producer.name if producer else "input")(
                tensor
            )
        return self._roundings[number]

    def _is_rounded(self, numbers: tuple[int, ...]) -> bool:
        return bool(numbers) and all(number in self._rounded for number in numbers)

    def _fake_quant(self, after: str, fixed: tuple[float, float] | None = None) -> Any:
        from quickfit.compression.quantizing.fake_activations import FakeQuant

        return FakeQuant(self._bits, fixed, name=self._name(f"{after}_quant"))

    def _name(self, wanted: str) -> str:
        """Return a name that nobody has."""
        names = (wanted if n == 1 else f"{wanted}_{n}" for n in range(1, len(self._names) + 2))
        name = next(one for one in names if one not in self._names)
        self._names.add(name)
        return name

    def _skip(self, call: Call) -> None:
        if getattr(call.layer, "weights", None):
            self._skipped.setdefault(call.name, Skipped(call.name, why_unknown(call)))
