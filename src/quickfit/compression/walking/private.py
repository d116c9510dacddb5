"""The attributes of Keras that are not public and that the walker needs: all of them, no others.

Keras keeps the graph of a functional model in nodes: one per call of a layer or operation, with the
arguments of the call and the tensors that came out of it. Written against Keras 3.15.
"""

# `Any` throughout: Keras has no types of its own, and it is imported by the caller, not here.
from typing import Any


def node_of(tensor: Any) -> Any:
    """Return the node (the recorded call) that made a symbolic tensor."""
    operation, index, _ = tensor._keras_history
    return operation._inbound_nodes[index]


def arguments_of(node: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and keyword arguments of a recorded call."""
    return tuple(node.arguments.args), dict(node.arguments.kwargs)


def body_of(model: Any) -> Any:
    """Return the functional graph inside a model, or None where it has none (yet)."""
    import keras

    if isinstance(model, keras.Sequential):
        return model._functional
    return model if isinstance(model, keras.Function) else None


def takes_training(operation: Any) -> bool:
    """Tell whether Keras hands `training=` of a model on to this operation."""
    names = getattr(operation, "_call_context_args", None)
    if names is None:  # operations, and layers before Keras 3.12
        return bool(getattr(operation, "_call_has_training_arg", False))
    return "training" in names


def twin_of(operation: Any) -> Any:
    """Return a copy of an operation without weights, with no calls recorded on it.

    Not through its config: operations that hold a function (`keras.ops.map`) have none.
    """
    twin = object.__new__(type(operation))
    vars(twin).update(vars(operation))
    twin._inbound_nodes, twin._outbound_nodes = [], []
    return twin


def with_sublayers(layer: Any) -> list[Any]:
    """Return a layer and all layers inside it, the outer ones first."""
    return list(layer._flatten_layers())


def output_shape_of_lambda(layer: Any) -> Any:
    """Return the `output_shape` that a Lambda layer was given, if any."""
    return layer._output_shape


def compile_arguments(model: Any) -> dict[str, Any]:
    """Return the arguments that a model was compiled with, as the objects they were."""
    return dict(model._compile_config.config)
