"""What a step must know of a model's layers: weights to train, statistics, 16-bit layers."""

from __future__ import annotations

from typing import Any

from quickfit.errors import UsageError

# Keras has no types of its own: models, layers and variables are `Any` here.


def layers_of(model: Any) -> list[Any]:
    """Return the model and every layer in it, however deeply nested."""
    # Keras has no public walk that enters layers made of layers.
    return list(model._flatten_layers())


def trainable_weights(model: Any) -> list[Any]:
    """Return the weights that a step trains.

    Raises:
        UsageError: the model is not built, or nothing in it is trainable.
    """
    if not model.built:
        raise UsageError(
            f"the model {model.name!r} is not built: its weights do not exist yet, so no step can "
            "be made for it. Call it once on a batch (`model(x)`), or give it its input shape "
            "(`keras.Input(...)` as the first layer, or `model.build(shape)`), and then call "
            "make_train_step."
        )
    weights = list(model.trainable_variables)
    if not weights:
        raise UsageError(_nothing_to_train(model))
    return weights


def _nothing_to_train(model: Any) -> str:
    frozen = [layer.name for layer in layers_of(model) if not layer.trainable]
    why = f"`trainable` is False for: {', '.join(frozen[:5])}" if frozen else "it has no weights"
    return (
        f"the model {model.name!r} has nothing to train ({why}). Set `layer.trainable = True` on "
        "the layers to train before calling make_train_step."
    )


def statistics(model: Any) -> list[Any]:
    """Return what a forward pass in training changes: moving averages, not frozen weights."""
    frozen = {
        id(variable)
        for layer in layers_of(model)
        if not layer.trainable
        for variable in layer.variables
    }
    return [
        variable
        for variable in model.non_trainable_variables
        if id(variable) not in frozen and "float" in str(variable.dtype)
    ]


def float16_layers(model: Any) -> list[str]:
    """Return the names of the layers that compute in float16."""
    return [layer.name for layer in layers_of(model) if layer.compute_dtype == "float16"]


def batch_statistics_layers(model: Any) -> list[str]:
    """Return the names of the layers whose result depends on which examples share a batch."""
    import keras

    return [
        layer.name
        for layer in layers_of(model)
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable
    ]


def takes_training(model: Any) -> bool:
    """Tell whether the model's `call` has the argument `training`."""
    from inspect import Parameter, signature

    parameters = signature(model.call).parameters.values()
    return any(one.name == "training" or one.kind is Parameter.VAR_KEYWORD for one in parameters)
