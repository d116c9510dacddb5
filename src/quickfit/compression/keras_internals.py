"""The attributes of Keras that are not public, and which models have a graph to walk.

Keras keeps the graph of a functional model in nodes: one per call of a layer or operation, with the
arguments of the call and the tensors that came out of it. Written against Keras 3.15.
"""

# `Any` throughout: Keras has no types of its own, and it is imported by the caller, not here.
from typing import Any

from quickfit.errors import ModelError, UsageError


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


def keras_class_name(operation: Any) -> str:
    """Return the name of a class of Keras; empty for a class of the user's or of a library."""
    kind = type(operation)
    return kind.__name__ if kind.__module__.partition(".")[0] == "keras" else ""


def with_sublayers(layer: Any) -> list[Any]:
    """Return a layer and all layers inside it, the outer ones first."""
    return list(layer._flatten_layers())


def output_shape_of_lambda(layer: Any) -> Any:
    """Return the `output_shape` that a Lambda layer was given, if any."""
    return layer._output_shape


def compile_arguments(model: Any) -> dict[str, Any]:
    """Return the arguments that a model was compiled with, as the objects they were."""
    return dict(model._compile_config.config)


def has_graph(operation: Any) -> bool:
    """Tell whether a model is functional or a built Sequential, called as Keras calls those."""
    return body_of(operation) is not None and not calls_its_own_way(operation)


def graph_body(model: Any) -> Any:
    """Return the functional graph of `model`.

    Raises:
        UsageError: it is no Keras model.
        ModelError: it is a model without a graph.
    """
    import keras

    if not isinstance(model, keras.Model):
        raise UsageError(_not_a_model_error(model))
    if isinstance(model, keras.Sequential) and body_of(model) is None:
        raise ModelError(_unbuilt_error(model))
    if not has_graph(model):
        raise ModelError(_subclassed_error(model))
    return body_of(model)


def calls_its_own_way(model: Any) -> bool:
    """Whether `call` is written by the user: then the recorded graph is not what runs."""
    author = next(cls for cls in type(model).__mro__ if "call" in vars(cls))
    return author.__module__.partition(".")[0] != "keras"


def _not_a_model_error(value: Any) -> str:
    if isinstance(value, str):
        return (
            f"A Keras model is needed, and a string came: {value!r}. "
            "Load the file first: keras.models.load_model(path)"
        )
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return (
        f"A Keras 3 model is needed, and an object of type {kind} came. Give the model itself "
        "(keras.Model or keras.Sequential); models of tf_keras (Keras 2) have to be saved and "
        "loaded with Keras 3 first."
    )


def _unbuilt_error(model: Any) -> str:
    first = model.layers[0] if model.layers else None
    if first is None:
        return f"The Sequential model '{model.name}' has no layers: there is nothing to change."
    return (
        f"The Sequential model '{model.name}' does not know the shape of its input yet (its first "
        f"layer is '{first.name}'), so it has no graph. Put keras.Input(shape=…) in front of its "
        "layers, or build it with the batch left open: model.build((None, 28, 28, 1))"
    )


def _subclassed_error(model: Any) -> str:
    return (
        f"The model '{model.name}' is subclassed: the layers of {type(model).__name__} are called "
        "by Python code in its `call`, so there is no graph to change. If `call` uses only Keras "
        "layers and keras.ops, this makes a functional model of it, with the same weights:\n"
        "    x = keras.Input(shape=…)  # the shape of one sample\n"
        "    model = keras.Model(x, model.call(x))"
    )
