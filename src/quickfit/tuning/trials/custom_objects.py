"""Classes and functions of the user's that a saved model refers to by name."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any


def custom_objects_of(model: Any) -> dict[str, Any]:  # Any: Keras tells no types
    """Return what `load_model` must be given to read a model again, by every name it may use."""
    import keras

    found: dict[str, Any] = {}
    for thing in _things(model):
        if _is_own(thing):
            found[thing.__name__] = thing
            found[keras.saving.get_registered_name(thing)] = thing
    return found


def make_forgiving(objects: dict[str, Any]) -> None:
    """Let layers and models without `**kwargs` be made from the config that Keras saves.

    Keras adds `name`, `trainable` and `dtype` to the config of every layer, and a class that
    does not take them cannot be read again, although it was saved (Keras 3.15).
    """
    import keras

    for thing in objects.values():
        if isinstance(thing, type) and issubclass(thing, keras.layers.Layer):
            takes_all = any(one.kind is one.VAR_KEYWORD for one in _parameters(thing).values())
            if not takes_all and "from_config" not in vars(thing):
                thing.from_config = classmethod(_made)  # type: ignore[attr-defined]


def lost_arguments(model: Any) -> list[str]:
    """Return the arguments of model classes that a saved model would not have.

    Keras keeps what a layer was made with, but of a model class without `get_config` only the
    defaults (Keras 3.15): another model would be read than was saved.
    """
    import keras

    lost = []
    for layer in model._flatten_layers():
        kinds = {kind.__name__ for kind in type(layer).__mro__}
        if isinstance(layer, keras.Model) and not kinds & {"Functional", "Sequential"}:
            config = type(layer).get_config
            if config is keras.Model.get_config:
                lost += [f"{type(layer).__name__}({name})" for name in _own(type(layer))]
    return lost


def _own(cls: Any) -> list[str]:
    parameters = _parameters(cls).values()
    named = [
        one.name for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]
    return [name for name in named[1:] if name not in ("name", "trainable", "dtype")]


def _parameters(cls: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(cls.__init__).parameters


def _made(cls: Any, config: dict[str, Any]) -> Any:
    taken = _parameters(cls)
    made = cls(**{name: value for name, value in config.items() if name in taken})
    made.trainable = config.get("trainable", True)
    return made


def _things(model: Any) -> Iterator[Any]:
    """Yield the classes and functions of everything that is part of a model."""
    for layer in model._flatten_layers():
        yield type(layer)
        yield from _functions_and_classes(list(vars(layer).values()))
    yield type(model.optimizer)
    schedule = getattr(model.optimizer, "_learning_rate", None)
    yield from _functions_and_classes([schedule, model.loss])
    metrics = getattr(model, "_compile_metrics", None)
    for name in ("_user_metrics", "_user_weighted_metrics"):
        yield from _functions_and_classes(getattr(metrics, name, None))


def _functions_and_classes(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _functions_and_classes(part)
    elif isinstance(value, type) or hasattr(value, "__code__"):
        yield value
    elif hasattr(value, "get_config"):
        yield type(value)


def _is_own(thing: Any) -> bool:
    top = str(getattr(thing, "__module__", None) or "keras").partition(".")[0]
    return top not in ("keras", "tensorflow", "builtins", "numpy") and hasattr(thing, "__name__")
