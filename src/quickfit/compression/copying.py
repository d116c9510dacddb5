"""New models from old ones: layers copied with their weights, a graph rebuilt with changes.

student = rebuild_graph(graph_of(model), make=lambda call, tensors: None)   # an exact copy
"""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

from quickfit.compression.graph import Call, Graph, Maker, Ref, graph_of
from quickfit.compression.keras_internals import (
    compile_arguments,
    has_graph,
    node_of,
    output_shape_of_lambda,
    twin_of,
    with_sublayers,
)
from quickfit.errors import ModelError

if TYPE_CHECKING:
    import keras


class FreshLayers:
    """The fresh layers of one rebuilt model: one per layer, however often it is called."""

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}

    def called(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        """Return what the copy of the call's layer makes of `tensors`."""
        import keras

        copy = self._copies.get(id(call.layer))
        if copy is not None:
            return call.replay(copy, tensors)
        copy = self._copies[id(call.layer)] = _copy_of(call)
        result = call.replay(copy, tensors)
        if isinstance(copy, keras.Layer) and not has_graph(call.layer):
            copy_state(call.layer, copy)
            copy_flags(call.layer, copy, trainable=call.trainable)
        return result


def rebuild_graph(graph: Graph, make: Maker | None = None, *, name: str | None = None) -> Any:
    """Return a new model like the one that `graph` was made of.

    Args:
        graph: what `graph_of` returned.
        make: asked for every call in order, with the call and the new model's tensors in the order
            of `call.inputs`. None means "copy the layer": same class, configuration, weights,
            name, dtype policy and trainable flag. Anything else, a tensor or the tensors of
            `call.outputs`, stands in its place.
        name: the name of the new model; by default that of the old one.

    Raises:
        ModelError: a layer cannot be copied, or `make` returned a wrong number of tensors.
    """
    copies = FreshLayers()
    with silence_keras_warnings():
        tensors = [_input_like(tensor) for tensor in graph.model.inputs]
        values = dict(zip(graph.inputs, tensors, strict=True))
        for call in graph.calls:
            given = tuple(values[number] for number in call.inputs)
            made = make(call, given) if make is not None else None
            made = copies.called(call, given) if made is None else made
            values.update(zip(call.outputs, _flat_outputs(made, call), strict=True))
        return _build_model(graph, values, name or graph.name)


def copied(model: Any) -> Any:
    """Return an independent copy of a model, compiled like it where it is compiled.

    The copy is functional, its nested models are dissolved, its optimizer starts anew. A class of
    your own around a functional model, with its `train_step`, is not copied.
    """
    copy = rebuild_graph(graph_of(model))
    compile_like(model, copy)
    return copy


def _copy_of(call: Call) -> Any:
    """Return a fresh layer for a call; a nested model that stayed whole is rebuilt itself."""
    if has_graph(call.layer):
        return rebuild_graph(graph_of(call.layer), name=call.name)
    return fresh_layer(call.layer, name=call.name)


def _input_like(tensor: Any) -> Any:
    """Return a new input; where Keras chose the names, layer and tensor have different ones."""
    layer = node_of(tensor).operation
    made = type(layer).from_config(layer.get_config()).output
    made.name = tensor.name
    return made


def _flat_outputs(made: Any, call: Call) -> list[Any]:
    import keras

    flat = list(keras.tree.flatten(made))
    if len(flat) != len(call.outputs):
        raise ModelError(
            f"What stands in place of '{call.name}' gives {len(flat)} tensors, and "
            f"{len(call.outputs)} are needed."
        )
    return flat


def _build_model(graph: Graph, values: Mapping[int, Any], name: str) -> Any:
    import keras

    def tensor(leaf: Ref) -> Any:
        return values[leaf.number]

    inputs, outputs = (
        keras.tree.map_structure(tensor, structure)
        for structure in (graph.input_structure, graph.output_structure)
    )
    model = keras.Model(inputs, outputs, name=name)
    if model.dtype_policy.name != graph.model.dtype_policy.name:
        model.dtype_policy = graph.model.dtype_policy
    return model


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


def fresh_layer(layer: Any, *, name: str | None = None, **changes: Any) -> Any:
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
        copy = _built_from(layer, {**_layer_config(layer), **changes})
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


def _layer_config(layer: Any) -> dict[str, Any]:
    try:
        with silence_keras_warnings():
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
    parts = [
        value
        for part in with_sublayers(layer)
        for value in (part, *filter(callable, vars(part).values()))
    ]
    objects = {type(part).__name__: type(part) for part in parts if not _is_of_keras(type(part))}
    functions = {f.__name__: f for f in parts if isinstance(f, FunctionType)}
    return objects | {name: f for name, f in functions.items() if not _is_of_keras(f)}


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
def silence_keras_warnings() -> Iterator[None]:
    """Keep Keras from warning once more of what it told when the user's model was built."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="When providing `inputs` as a dict")
        warnings.filterwarnings("ignore", message=".*was passed an input with a mask attached")
        warnings.filterwarnings("ignore", message="The object being serialized includes a `lambda`")
        yield


def compile_like(model: Any, copy: Any) -> None:
    """Compile `copy` the way `model` was: a new optimizer of the same settings, new metrics.

    The optimizer starts anew: its momenta belong to the original's weights.
    """
    import keras

    if not model.compiled:
        return
    arguments = compile_arguments(model)
    copy.compile(**{k: keras.tree.map_structure(_copy_stateful, v) for k, v in arguments.items()})


def _copy_stateful(value: Any) -> Any:
    """Return a copy of what has state, and everything else as it is."""
    import keras

    if not isinstance(value, keras.optimizers.Optimizer | keras.metrics.Metric):
        return value
    try:
        return type(value).from_config(value.get_config())
    except CANNOT_BUILD as error:
        raise ModelError(
            f"The model cannot be compiled again: its {type(value).__name__} '{value.name}' cannot "
            f"be copied ({type(error).__name__}: {error}). Give its class a get_config() that "
            "returns its constructor's arguments."
        ) from error


@dataclass(frozen=True)
class SkippedLayer:
    """A layer that was left as it is."""

    layer: str
    reason: str


@dataclass(frozen=True)
class TransformedModel:
    """A new model; the one it was made from is untouched.

    Args:
        model: the new one, not compiled unless it says so.
        notes: what a person should know about it.
        skipped: layers that were left as they are.
    """

    model: keras.Model
    notes: tuple[str, ...] = ()
    skipped: tuple[SkippedLayer, ...] = ()
