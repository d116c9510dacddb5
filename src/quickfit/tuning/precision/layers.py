"""What a dtype policy must know of models: their kind, their layers, policies that are set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
    # Keras has no public walk that enters layers made of layers.
    return [
        layer
        for layer in model._flatten_layers(include_self=False)
        if not is_graph(layer) and type(layer).__name__ != "InputLayer"
    ]


def input_layer(model: Any) -> Any:
    """Return what a list of layers begins with where its input is known, or None."""
    # `layers` leaves it out.
    first = model._layers[0] if model._layers else None
    return first if type(first).__name__ == "InputLayer" else None


def sources(tensor: Any) -> tuple[Any, list[Any]]:
    """Return the operation that made a symbolic tensor, and the tensors that went into it."""
    operation, node_index = tensor._keras_history[:2]
    return operation, list(operation._inbound_nodes[node_index].input_tensors)


def named(layer: Any) -> str:
    """Return a layer as people find it: its name and its class."""
    return f"{layer.name!r} ({type(layer).__name__})"
