"""Which dtype policy every layer of a model gets, and why some stay in float32."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from quickfit.compression.keras_internals import node_of, with_sublayers
from quickfit.errors import UsageError

# Models and layers of Keras are `Any`: Keras has no types of its own.

FLOAT32 = "float32"
POLICIES = ("mixed_float16", "mixed_bfloat16", FLOAT32)


def known_policy(policy: object) -> str:
    """Return the name of a policy that can be applied.

    Raises:
        UsageError: it is none of those.
    """
    name = getattr(policy, "name", policy)
    if isinstance(name, str) and name in POLICIES:
        return name
    hint = ""
    if name in ("float16", "bfloat16"):
        hint = (
            f" In pure {name} the weights lose small updates; mixed_{name} keeps them in float32."
        )
    raise UsageError(
        f"{name!r} is no policy that quickfit applies.{hint} Give one of: {', '.join(POLICIES)}."
    )


@dataclass(frozen=True)
class PolicyPlan:
    """The policy of every layer, by its `id`.

    Args:
        policy: the one that was asked for.
        kept: layers that stay in float32, by `id`, with the reason.
        is_mixed: whether the model has 16-bit layers already, so that float32 was chosen on
            purpose where it is.
    """

    policy: str
    kept: dict[int, str] = field(default_factory=dict)
    is_mixed: bool = False

    def policy_of(self, layer: Any) -> str:
        """Return the policy for a layer; empty to leave a policy of its own as it is."""
        if is_sequential(layer):
            return self._of_first(layer)
        own = policy_name(layer)
        if not self.may_change(own) and not is_graph(layer):
            return ""
        if id(layer) in self.kept or (self.is_mixed and own == FLOAT32):
            return FLOAT32
        return self.policy

    def may_change(self, own: str) -> bool:
        """Tell whether a policy is one to change: float64 and quantized layers are left alone."""
        # Weights in 16 bits can be widened and nothing is lost, but not the other way.
        return own in POLICIES or (self.policy == FLOAT32 and own in ("float16", "bfloat16"))

    def _of_first(self, model: Any) -> str:
        """Return the policy for a list of layers, which casts what its first layer gets."""
        first = model.layers[0] if model.layers else None
        if first is None or not first.autocast:
            return FLOAT32  # such as token ids for an Embedding, which 16 bits would change
        return self.policy_of(first) or FLOAT32


def plan_for(model: Any, policy: str) -> PolicyPlan:
    """Return the policy of every layer of a model."""
    if policy == FLOAT32:
        return PolicyPlan(policy)
    names = {policy_name(layer) for layer in every_layer(model)}
    is_mixed = any(name.startswith("mixed_") for name in names)
    return PolicyPlan(policy, kept_layers(model, policy), is_mixed)


# Models, layers and tensors of Keras are `Any`: Keras has no types of its own.

KEEP_HEAD = "makes the model's output, which the loss is computed from"
KEEP_SOFTMAX = "a softmax loses small probabilities in 16 bits"
KEEP_IDS = (
    "Keras would round the ids that go into it, since the model does not say that they are ints"
)
# Keras 3.15 fails to add a loss of 16 bits to those of float32; float16 also ends at 65504.
KEEP_REGULARIZER = "its activity regularizer adds up many numbers, for a loss that is in float32"
KEEP_INPUT = "prepares the input, whose numbers may be large"

# Half of the smallest float16 above 0 is rounded to 0, and dividing by it gives Inf.
SMALLEST_FLOAT16 = 6e-8
_EPSILON = re.compile(r"_?eps(ilon)?", re.IGNORECASE)
# These compute in float32 inside, whatever their policy (tried with an epsilon of 1e-12).
_SAFE = (
    "BatchNormalization",
    "LayerNormalization",
    "GroupNormalization",
    "RMSNormalization",
)


def kept_layers(model: Any, policy: str) -> dict[int, str]:
    """Return the layers that stay in float32, by `id`, with the reason."""
    kept = {id(layer): KEEP_HEAD for layer in head_layers(model)}
    kept |= {id(layer): KEEP_IDS for layer in rounded_lookups(model)}
    for layer in graph_layers(model):
        reason = _keep_reason(layer, policy)
        if reason:
            kept.setdefault(id(layer), reason)
    return kept


def head_layers(model: Any) -> list[Any]:
    """Return the layers that an output goes through, back to the first with weights of its own.

    An activation at the very end is enough: what it gets may be in 16 bits.
    """
    if is_sequential(model):
        return _tail_layers(list(model.layers))
    found: dict[int, Any] = {}
    waiting, seen = list(model.outputs), set()
    while waiting:
        tensor = waiting.pop()
        operation, inputs = tensor_sources(tensor)
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        if is_graph(operation):
            found |= {id(layer): layer for layer in head_layers(operation)}
        elif is_layer(operation):
            found[id(operation)] = operation
        if not _ends_head(operation):
            waiting += inputs
    return list(found.values())


def rounded_lookups(model: Any) -> list[Any]:
    """Return the lookup that a list of layers begins with where it takes its input for 16 bits.

    A Sequential that is not built yet takes the type of its first layer for that of its input,
    and casts ids to it: 4001 becomes 4000 in bfloat16, and another row is looked up (Keras 3.15).
    """
    if not is_sequential(model) or not model.layers:
        return []
    first = model.layers[0]
    if is_graph(first):
        return rounded_lookups(first)
    is_lookup = "Embedding" in type(first).__name__
    given = input_layer(model)
    is_said = given is not None and str(given.dtype) not in ("float16", "bfloat16")
    return [first] if is_lookup and not is_said else []


def unsafe_epsilon(layer: Any) -> tuple[str, float] | None:
    """Return the name and value of an epsilon that is 0 in float16, where the layer has one."""
    if type(layer).__name__ == "UnitNormalization":
        return "epsilon", 1e-12  # written into it; a row of zeros becomes NaN
    if type(layer).__name__ in _SAFE:
        return None
    for name, value in vars(layer).items():
        is_number = isinstance(value, float) and 0 < value < SMALLEST_FLOAT16
        if is_number and _EPSILON.fullmatch(name):
            return name, value
    return None


def is_softmax(layer: Any) -> bool:
    """Tell whether a layer ends in a softmax."""
    import keras

    functions = (keras.activations.softmax, keras.activations.log_softmax)
    activation = getattr(layer, "activation", None)
    return isinstance(layer, keras.layers.Softmax) or any(activation is one for one in functions)


def _keep_reason(layer: Any, policy: str) -> str:
    """Say why a layer stays in float32; empty if it need not."""
    if is_softmax(layer):
        return KEEP_SOFTMAX
    if type(layer).__module__.startswith("keras.src.layers.preprocessing"):
        return KEEP_INPUT
    if layer.activity_regularizer is not None:
        return KEEP_REGULARIZER
    if policy != "mixed_float16":
        return ""
    for part in (layer, *every_layer(layer)):
        unsafe = unsafe_epsilon(part)
        if unsafe is not None:
            return f"its {unsafe[0]} of {unsafe[1]:g} is 0 in float16"
    return ""


def _tail_layers(layers: list[Any]) -> list[Any]:
    """Return the last layers of a list, back to the first that ends the head."""
    found = []
    for layer in reversed(layers):
        found += head_layers(layer) if is_graph(layer) else [layer]
        if _ends_head(layer):
            break
    return found


def _ends_head(operation: Any) -> bool:
    if not is_layer(operation):
        return False  # such as `x * 2`: it computes in whatever it is given
    kind = type(operation)
    # A layer that was not called yet has no weights to show, but a `build` that makes them.
    is_weighted = bool(operation.weights) or (not operation.built and _makes_weights(operation))
    is_activation = kind.__name__ == "Activation" or ".layers.activations." in kind.__module__
    return is_graph(operation) or kind.__name__ == "InputLayer" or is_weighted or is_activation


def _makes_weights(layer: Any) -> bool:
    return hasattr(layer, "kernel_initializer") or bool(getattr(layer, "_layers", ()))


# Models, layers and tensors of Keras are `Any`: Keras has no types of its own.

# What a class of the user's may change about a model: lost where a model is put together anew
# from its layers, without the class.
_BEHAVIOUR = ("call", "train_step", "test_step", "compute_loss", "compute_metrics", "compile")


def policy_name(layer: Any) -> str:
    """Return the name of a layer's dtype policy; empty where it has a map of several."""
    return str(getattr(layer.dtype_policy, "name", "") or "")


def is_layer(operation: Any) -> bool:
    """Tell a layer from a plain operation such as `x + y`."""
    import keras

    return isinstance(operation, keras.Layer)


def is_graph(layer: Any) -> bool:
    """Tell whether this is a model whose layers and connections are known."""
    return is_sequential(layer) or is_functional(layer)


def is_sequential(layer: Any) -> bool:
    """Tell whether this is a model that lists its layers."""
    import keras

    return isinstance(layer, keras.Sequential)


def is_functional(layer: Any) -> bool:
    """Tell whether this is a model made of inputs and outputs."""
    import keras

    # Keras exports no name for this class.
    return isinstance(layer, keras.Model) and any(
        one.__name__ == "Functional" for one in type(layer).__mro__
    )


def own_behaviour(model: Any) -> list[str]:
    """Return the methods that the class of a model has of its own."""
    import keras

    base = next(
        one for one in type(model).__mro__ if one.__module__.split(".")[0] == keras.__name__
    )
    return [name for name in _BEHAVIOUR if getattr(type(model), name) is not getattr(base, name)]


def graph_layers(model: Any) -> Iterator[Any]:
    """Yield the layers of a model and of the models in it, but not the parts of layers."""
    for layer in model.layers:
        if is_graph(layer):
            yield from graph_layers(layer)
        else:
            yield layer


def every_layer(model: Any) -> list[Any]:
    """Return every layer that computes, however deeply nested; models are not among them."""
    return [
        layer
        for layer in with_sublayers(model)[1:]
        if not is_graph(layer) and type(layer).__name__ != "InputLayer"
    ]


def input_layer(model: Any) -> Any:
    """Return what a list of layers begins with where its input is known, or None."""
    # `layers` leaves it out.
    first = model._layers[0] if model._layers else None
    return first if type(first).__name__ == "InputLayer" else None


def tensor_sources(tensor: Any) -> tuple[Any, list[Any]]:
    """Return the operation that made a symbolic tensor, and the tensors that went into it."""
    node = node_of(tensor)
    return node.operation, list(node.input_tensors)


def layer_label(layer: Any) -> str:
    """Return a layer as people find it: its name and its class."""
    return f"{layer.name!r} ({type(layer).__name__})"


_HEAD = 'keras.layers.Dense(classes, activation="softmax", dtype="float32")  # the last layer'
_SCALED = (
    "# fit scales the loss by itself then. In a loop of your own:\n"
    "optimizer = keras.optimizers.LossScaleOptimizer(optimizer)  # and optimizer.scale_loss(loss)"
)


def policy_lines(policy: str) -> list[str]:
    """Return the lines to paste for a policy."""
    first = f'keras.config.set_dtype_policy("{policy}")  # before the model is built'
    if policy == "float32":
        return [f"{first}; and no dtype= on layers"]
    return [first, _HEAD, *(_SCALED.splitlines() if policy == "mixed_float16" else [])]
