"""Which models have a graph to walk, and what to tell the owner of one that has none."""

from typing import Any

from quickfit.compression.walking.private import body_of
from quickfit.errors import ModelError, UsageError


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
        raise UsageError(_not_a_model(model))
    if isinstance(model, keras.Sequential) and body_of(model) is None:
        raise ModelError(_unbuilt(model))
    if not has_graph(model):
        raise ModelError(_subclassed(model))
    return body_of(model)


def calls_its_own_way(model: Any) -> bool:
    """Whether `call` is written by the user: then the recorded graph is not what runs."""
    author = next(cls for cls in type(model).__mro__ if "call" in vars(cls))
    return author.__module__.partition(".")[0] != "keras"


def _not_a_model(value: Any) -> str:
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


def _unbuilt(model: Any) -> str:
    first = model.layers[0] if model.layers else None
    if first is None:
        return f"The Sequential model '{model.name}' has no layers: there is nothing to change."
    return (
        f"The Sequential model '{model.name}' does not know the shape of its input yet (its first "
        f"layer is '{first.name}'), so it has no graph. Put keras.Input(shape=…) in front of its "
        "layers, or build it with the batch left open: model.build((None, 28, 28, 1))"
    )


def _subclassed(model: Any) -> str:
    return (
        f"The model '{model.name}' is subclassed: the layers of {type(model).__name__} are called "
        "by Python code in its `call`, so there is no graph to change. If `call` uses only Keras "
        "layers and keras.ops, this makes a functional model of it, with the same weights:\n"
        "    x = keras.Input(shape=…)  # the shape of one sample\n"
        "    model = keras.Model(x, model.call(x))"
    )
