"""Fresh copies of layers: same class, configuration, weights and name, nothing shared but code."""

import inspect
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from quickfit.compression.walking.private import (
    output_shape_of_lambda,
    twin_of,
    with_sublayers,
)
from quickfit.errors import ModelError

# What a class of the user's may raise when it is built from its own configuration.
CANNOT_BUILD = (
    TypeError,
    ValueError,
    KeyError,
    AttributeError,
    ImportError,
    RuntimeError,
    NotImplementedError,
)


def fresh(layer: Any, *, name: str | None = None, **changes: Any) -> Any:
    """Return a new layer like `layer`, not built yet and without its weights.

    Args:
        layer: the layer to copy; an operation without weights (`keras.ops.add`) is copied whole.
        name: another name for the copy.
        changes: values of its configuration that shall differ, such as `filters=12`.

    Raises:
        ModelError: the layer does not say how to make another one like it.
    """
    import keras

    if not isinstance(layer, keras.Layer):
        twin = twin_of(layer)
        twin.name = name or layer.name
        return twin
    if type(layer) is keras.layers.Lambda:
        copy = _lambda_like(layer)
    else:
        copy = _built_from(layer, {**_config_of(layer), **changes})
    copy.name = name or layer.name  # in the configuration only where `__init__` takes it
    if copy.dtype_policy.name != _policy_of(layer).name and "dtype" not in changes:
        copy.dtype_policy = _policy_of(layer)
    return copy


def copy_state(layer: Any, copy: Any) -> None:
    """Give a built copy the weights and random states of the layer.

    Raises:
        ModelError: the copy has other weights than the layer.
    """
    shapes, copied = ([tuple(v.shape) for v in item.variables] for item in (layer, copy))
    if shapes != copied:
        raise ModelError(
            f"The layer '{layer.name}' ({type(layer).__name__}) cannot be copied: a new one made "
            f"from its get_config() has weights of the shapes {copied}, the layer itself {shapes}. "
            "Its get_config() must hold every argument that its weights depend on."
        )
    for ours, theirs in zip(copy.variables, layer.variables, strict=True):
        ours.assign(theirs)
    if hasattr(layer, "adapt"):
        _copy_adapted(layer, copy)


def copy_flags(layer: Any, copy: Any, *, trainable: bool = True) -> None:
    """Make a copy trainable where the layer is: it, what is inside it, and what is around it.

    Args:
        layer: the original.
        copy: its copy.
        trainable: False where a model around the layer is frozen.
    """
    ours, theirs = with_sublayers(copy), with_sublayers(layer)
    if len(ours) != len(theirs):
        ours, theirs = [copy], [layer]
    for our, their in zip(ours, theirs, strict=True):
        if our.trainable != their.trainable:
            our.trainable = their.trainable
    if copy.trainable and not trainable:
        copy.trainable = False


def _config_of(layer: Any) -> dict[str, Any]:
    try:
        with quiet():
            config = dict(layer.get_config())
    except CANNOT_BUILD as error:
        raise ModelError(_not_copied(layer, error)) from error
    config.update(_live_parts(layer, config))
    policy = _policy_of(layer)
    if "dtype" in config and policy is not layer.dtype_policy:
        config["dtype"] = policy
    return {key: value for key, value in config.items() if _is_argument(layer, key)}


def _is_argument(layer: Any, key: str) -> bool:
    """Whether a layer's constructor takes a value of its configuration.

    Keras puts name, dtype and trainable into every configuration, also into that of a class whose
    `__init__` does not hand them on; `fresh` and `copy_state` set them afterwards.
    """
    if key not in {"name", "dtype", "trainable"}:
        return True
    parameters = inspect.signature(type(layer).__init__).parameters.values()
    return any(p.name == key or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def _policy_of(layer: Any) -> Any:
    """Return the dtype policy of this very layer, where a map holds those of a whole model."""
    import keras

    policy = layer.dtype_policy
    if isinstance(policy, keras.dtype_policies.DTypePolicyMap):
        return policy[layer.path]
    return policy


def _live_parts(layer: Any, config: dict[str, Any]) -> dict[str, Any]:
    """Return the functions and small objects (initializers…) of a configuration as they are.

    Written down and read again, a function of the user's would not be found, or be mistaken for
    the one of Keras with the same name.
    """
    live = {key: getattr(layer, key, None) for key in config}
    return {key: value for key, value in live.items() if _is_live(layer, config[key], value)}


def _is_live(layer: Any, written: Any, value: Any) -> bool:
    """Whether an attribute is the very object that a value of the configuration describes.

    In a class of the user's it may be something else of the same name.
    """
    import keras

    if not callable(value) or isinstance(value, keras.Operation | type):
        return False
    if getattr(value, "__self__", None) is layer:
        return False  # a method
    if isinstance(written, dict) or _is_of_keras(type(layer)):
        return True
    return isinstance(written, str) and getattr(value, "__name__", None) == written


def _built_from(layer: Any, config: dict[str, Any]) -> Any:
    import keras

    try:
        with keras.saving.custom_object_scope(_own_objects(layer)):
            return type(layer).from_config(config)
    except CANNOT_BUILD as error:
        raise ModelError(_not_copied(layer, error)) from error


def _own_objects(layer: Any) -> dict[str, Any]:
    """Return classes and functions used inside a layer that Keras does not know, by name."""
    parts = [value for part in with_sublayers(layer) for value in (part, *_attributes(part))]
    objects = {type(part).__name__: type(part) for part in parts if not _is_of_keras(type(part))}
    functions = {f.__name__: f for f in parts if isinstance(f, FunctionType)}
    return objects | {name: f for name, f in functions.items() if not _is_of_keras(f)}


def _attributes(layer: Any) -> list[Any]:
    return [value for value in vars(layer).values() if callable(value)]


def _is_of_keras(value: Any) -> bool:
    return value.__module__.partition(".")[0] in {"keras", "builtins"}


def _lambda_like(layer: Any) -> Any:
    """Return a Lambda with the same function: written down, it would lose its module's names."""
    import keras

    return keras.layers.Lambda(
        layer.function,
        output_shape=output_shape_of_lambda(layer),
        mask=layer.mask,
        arguments=dict(layer.arguments or {}),
        trainable=layer.trainable,
        dtype=_policy_of(layer),
    )


def _copy_adapted(layer: Any, copy: Any) -> None:
    """Copy what `adapt` learned, part of which Keras keeps outside of the weights."""
    store: dict[str, Any] = {}
    layer.save_own_variables(store)
    copy.load_own_variables(store)
    if hasattr(layer, "save_assets"):
        with tempfile.TemporaryDirectory() as folder:
            layer.save_assets(folder)
            copy.load_assets(folder)


def _not_copied(layer: Any, error: BaseException) -> str:
    # Keras puts the real reason at the end of a long text.
    reason = str(error).rpartition("Exception encountered: ")[2].strip().splitlines()
    return (
        f"The layer '{layer.name}' ({type(layer).__name__}) cannot be copied: "
        f"{type(error).__name__}: {reason[0] if reason else 'no reason given'}\n"
        f"Give {type(layer).__name__} a get_config() that returns its constructor's arguments "
        "(https://keras.io/guides/making_new_layers_and_models_via_subclassing)."
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Keras from warning once more of what it told when the user's model was built."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="When providing `inputs` as a dict")
        warnings.filterwarnings("ignore", message=".*was passed an input with a mask attached")
        warnings.filterwarnings("ignore", message="The object being serialized includes a `lambda`")
        yield
