"""The config of a layer with another dtype policy, and the objects of the user's that it names."""

from __future__ import annotations

import types
import warnings
from typing import Any

from quickfit.tuning.precision.layers import every_layer

# Configs and layers of Keras are `Any`: Keras has no types of its own.

_CHANGEABLE = ("float32", "mixed_float16", "mixed_bfloat16", "float16", "bfloat16")
# Methods that Keras puts on each layer as functions.
_WRAPPED = ("build", "quantize")


def config_of(layer: Any) -> dict[str, Any]:
    """Return a layer's config with functions of the user's as they are, not as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a lambda cannot be loaded from a file
        config: dict[str, Any] = layer.get_config()
    own = {
        name: value
        for name, value in vars(layer).items()
        if name in config and isinstance(value, types.FunctionType) and not _is_keras(value)
    }
    return {**config, **own}


def with_policy(config: dict[str, Any], policy: str) -> dict[str, Any]:
    """Return a layer's config with a policy, also for the layers that are named inside of it."""
    changed: dict[str, Any] = _rewritten(config, policy)
    if changed.get("dtype") in _CHANGEABLE:
        changed["dtype"] = policy
    return changed


def custom_objects(layer: Any) -> dict[str, Any]:
    """Return the classes and functions of the user's that a layer's config may name.

    Names that stand for several things, such as two lambdas, are left out: the wrong one would
    be taken in silence.
    """
    found: dict[str, Any] = {}
    several = set()
    for part in (layer, *every_layer(layer)):
        for one in (type(part), *map(_named_object, vars(part).items())):
            if one is None or _is_keras(one):
                continue
            if found.setdefault(one.__name__, one) is not one:
                several.add(one.__name__)
    return {name: one for name, one in found.items() if name not in several}


def _is_keras(thing: Any) -> bool:
    return str(thing.__module__).split(".")[0] == "keras"


def _named_object(attribute: tuple[str, Any]) -> Any:
    """Return what a config names for an attribute: a function, or the class of an object."""
    name, value = attribute
    if isinstance(value, types.FunctionType):
        return None if name in _WRAPPED else value
    # Initializers, regularizers, constraints, policies.
    return type(value) if hasattr(value, "get_config") else None


def _rewritten(value: Any, policy: str) -> Any:
    if isinstance(value, dict):
        return {key: _entry(key, one, policy) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_rewritten(one, policy) for one in value)
    return value


def _entry(key: Any, value: Any, policy: str) -> Any:
    is_policy = isinstance(value, dict) and value.get("class_name") == "DTypePolicy"
    if key == "dtype" and is_policy and value.get("config", {}).get("name") in _CHANGEABLE:
        return {**value, "config": {**value["config"], "name": policy}}
    return _rewritten(value, policy)
