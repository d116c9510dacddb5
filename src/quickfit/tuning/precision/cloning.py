"""A model made again with other dtype policies: its layers, weights and compile arguments."""

from __future__ import annotations

import inspect
import tempfile
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from quickfit.compression.keras_internals import (
    compile_arguments,
    output_shape_of_lambda,
    twin_of,
    with_sublayers,
)
from quickfit.errors import ModelError
from quickfit.tuning.precision.policies import (
    FLOAT32,
    PolicyPlan,
    every_layer,
    input_layer,
    is_graph,
    is_layer,
    is_sequential,
    layer_label,
    own_behaviour,
    policy_name,
)
from quickfit.tuning.train_step.optimizer import float16_layers, scaler_in

# Models, layers and operations of Keras are `Any`: Keras has no types of its own.


class LayerClones:
    """Makes each layer again once, so that layers that are shared stay shared.

    Args:
        plan: the policy of every layer.
        model: the outermost one.
    """

    def __init__(self, plan: PolicyPlan, model: Any) -> None:
        self._plan = plan
        self._outermost = model
        self._twins: dict[int, Any] = {}
        self.pairs: list[tuple[Any, Any]] = []

    def twin(self, operation: Any) -> Any:
        """Return the copy of a layer, model or plain operation."""
        if id(operation) not in self._twins:
            self._twins[id(operation)] = self._made(operation)
        return self._twins[id(operation)]

    def _made(self, operation: Any) -> Any:
        if not is_layer(operation):
            return _fresh_operation(operation)
        with global_policy(self._plan.policy_of(operation) or operation.dtype_policy):
            twin = self._model(operation) if is_graph(operation) else self._layer(operation)
        self.pairs.append((operation, twin))
        return twin

    def _model(self, model: Any) -> Any:
        import keras

        if is_sequential(model):
            twin = self._sequential(model)
        else:
            with _taken_as_not_compiled(model):
                twin = keras.models.clone_model(model, clone_function=self.twin)
        lost = own_behaviour(model) if type(twin) is not type(model) else []
        if lost:
            raise ModelError(
                f"the model {layer_label(model)} has its own "
                f"{', '.join(f'`{one}`' for one in lost)}, "
                "and its class cannot be made from inputs and outputs, so a copy would lose that."
            )
        return twin

    def _sequential(self, model: Any) -> Any:
        """Return a list of layers; `clone_model` would cast to float32 before every inner one."""
        import keras

        layers = [self.twin(layer) for layer in model.layers]
        given = input_layer(model)
        if given is not None:
            dtype = self._input_dtype(model, layers[0]) if _is_float(given) else given.dtype
            shape, name = given.batch_shape, given.name
            known = keras.Input(batch_shape=shape, dtype=dtype, sparse=given.sparse, name=name)
            layers.insert(0, known)
        twin = keras.Sequential(layers, name=model.name, trainable=model.trainable)
        if _is_connected(model) and given is not None and not _is_connected(twin):
            _fail_loudly(twin)
        return twin

    def _input_dtype(self, model: Any, first: Any) -> str:
        """Return what an inner list of layers gets; the data come as they are."""
        # What a model inside of it does with its input is not looked into.
        is_cast = model is not self._outermost and first.autocast and not is_graph(first)
        return str(first.compute_dtype) if is_cast else FLOAT32

    def _layer(self, layer: Any) -> Any:
        import keras

        policy = self._plan.policy_of(layer)
        if type(layer) is keras.layers.Lambda:
            return _lambda_copy(layer)
        config = layer_config(layer)
        with keras.saving.custom_object_scope(layer_custom_objects(layer)):
            return _from_config(layer, with_policy(config, policy) if policy else config)


def _is_connected(model: Any) -> bool:
    """Tell whether a list of layers could be called one after the other; `built` tells less."""
    return model._functional is not None


def _fail_loudly(model: Any) -> None:
    """Call the layers of a list, which leaves itself unbuilt without a word where one fails."""
    known, *layers = model._layers
    x = known.output
    for layer in layers:
        x = layer(x)


def _is_float(given: Any) -> bool:
    return given.dtype in (FLOAT32, "float16", "bfloat16")


@contextmanager
def global_policy(policy: Any) -> Iterator[None]:
    """Let Keras make layers with a policy where they do not name one."""
    import keras

    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


@contextmanager
def _taken_as_not_compiled(model: Any) -> Iterator[None]:
    """Keep `clone_model` from compiling the copy: it would fail for losses that are functions."""
    before, model.compiled = model.compiled, False
    try:
        yield
    finally:
        model.compiled = before


def _fresh_operation(operation: Any) -> Any:
    """Return a plain operation that has not been called yet."""
    twin = twin_of(operation)
    if type(twin).__name__ == "Cast" and str(twin.dtype) in ("float16", "bfloat16"):
        # Older releases of Keras put a cast before a layer; what follows casts by itself.
        twin.dtype = "float32"
    return twin


def _lambda_copy(layer: Any) -> Any:
    """Return a Lambda around the same function, which a config would lose or refuse."""
    import keras

    return keras.layers.Lambda(
        layer.function,
        output_shape=output_shape_of_lambda(layer),
        mask=layer.mask,
        arguments=layer.arguments,
        name=layer.name,
    )


def _from_config(layer: Any, config: dict[str, Any]) -> Any:
    """Return a layer made from a config, also where its `__init__` takes no `dtype` and `name`."""
    kind = type(layer)
    parameters = inspect.signature(kind.__init__).parameters
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    if takes_all or "from_config" in vars(kind):
        return kind.from_config(config)
    twin = kind(**{name: value for name, value in config.items() if name in parameters})
    twin.name = layer.name
    return twin


# Configs and layers of Keras are `Any`: Keras has no types of its own.

_CHANGEABLE = ("float32", "mixed_float16", "mixed_bfloat16", "float16", "bfloat16")
# Methods that Keras puts on each layer as functions.
_WRAPPED = ("build", "quantize")


def layer_config(layer: Any) -> dict[str, Any]:
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
    changed: dict[str, Any] = _rewrite_policies(config, policy)
    if changed.get("dtype") in _CHANGEABLE:
        changed["dtype"] = policy
    return changed


def layer_custom_objects(layer: Any) -> dict[str, Any]:
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


def _rewrite_policies(value: Any, policy: str) -> Any:
    if isinstance(value, dict):
        return {key: _rewrite_entry(key, one, policy) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_rewrite_policies(one, policy) for one in value)
    return value


def _rewrite_entry(key: Any, value: Any, policy: str) -> Any:
    is_policy = isinstance(value, dict) and value.get("class_name") == "DTypePolicy"
    if key == "dtype" and is_policy and value.get("config", {}).get("name") in _CHANGEABLE:
        return {**value, "config": {**value["config"], "name": policy}}
    return _rewrite_policies(value, policy)


# Layers and variables of Keras are `Any`: Keras has no types of its own.

LayerPair = tuple[Any, Any]


def part_pairs(pairs: Iterable[LayerPair]) -> list[LayerPair]:
    """Return the pairs with the parts of layers that are made of layers, outermost first."""
    found: list[LayerPair] = []
    for layer, twin in pairs:
        if is_graph(layer):
            continue
        parts = with_sublayers(layer), with_sublayers(twin)
        if [type(one) for one in parts[0]] != [type(one) for one in parts[1]]:
            raise ModelError(
                f"the layer {layer_label(layer)} has other parts when it is made again from its "
                "config, so its weights cannot be carried over. Let its `get_config` return "
                "everything that its `__init__` needs."
            )
        found += zip(*parts, strict=True)
    return found


def require_same_weights(model: Any, twin: Any) -> None:
    """Refuse a copy in which something that was one weight has become two, or the other way.

    Raises:
        ModelError: it has.
    """
    before, after = len(model.weights), len(twin.weights)
    if before != after:
        raise ModelError(
            f"the model {layer_label(model)} has {before} weights and a copy of it {after}: a "
            "layer uses "
            "weights of another layer, or makes some when it is called for the first time."
        )


def settle_policies(pairs: Iterable[LayerPair], plan: PolicyPlan) -> None:
    """Give the parts of layers the policy of their layer, where they were made with another."""
    for layer, twin in pairs:
        if is_graph(layer):
            continue
        policy = plan.policy_of(layer)
        for part, copied in zip(with_sublayers(layer), with_sublayers(twin), strict=False):
            if policy and plan.may_change(policy_name(part)) and policy_name(copied) != policy:
                copied.dtype_policy = policy


def copy_layer_state(pairs: Iterable[LayerPair]) -> None:
    """Copy what the layers have learned and were given.

    Raises:
        ModelError: a weight is not the same afterwards.
    """
    built = [(layer, twin) for layer, twin in pairs if layer.built]
    for layer, twin in built:
        if not twin.built:
            raise ModelError(
                f"the layer {layer_label(layer)} has weights and its copy could not be built. "
                "Give the model its input shape: keras.Input(...) as the first layer."
            )
        _copy_variables(layer, twin)
        _copy_assets(layer, twin)
    for layer, twin in built:
        _compare_weights(layer, twin)


def copy_trainable(model: Any, twin: Any, pairs: Iterable[LayerPair]) -> None:
    """Make the same things trainable; models first, since they pass it on to their layers."""
    ordered = sorted(pairs, key=lambda pair: not is_graph(pair[0]))
    for layer, copied in [(model, twin), *ordered]:
        if copied.trainable != layer.trainable:
            copied.trainable = layer.trainable


def _copy_variables(layer: Any, twin: Any) -> None:
    store: dict[str, Any] = {}
    # As Keras saves and loads a file, so that layers finish what depends on their weights.
    layer.save_own_variables(store)
    twin.load_own_variables(store)


def _copy_assets(layer: Any, twin: Any) -> None:
    """Copy what is no variable, such as the vocabulary that a layer was adapted to."""
    if not hasattr(layer, "save_assets"):
        return
    with tempfile.TemporaryDirectory() as folder:
        layer.save_assets(folder)
        twin.load_assets(folder)


def _compare_weights(layer: Any, twin: Any) -> None:
    for given, copied in zip(layer.weights, twin.weights, strict=False):
        before, after = given.numpy(), copied.numpy()
        if before.dtype == after.dtype and before.tobytes() != after.tobytes():
            raise ModelError(
                f"the weight {given.path!r} of the layer {layer_label(layer)} is not the same in "
                "the copy. Does the layer have its own `load_own_variables`?"
            )


# Models, optimizers, losses and metrics of Keras are `Any`: Keras has no types of its own.


def compile_alike(model: Any, twin: Any) -> None:
    """Compile a copy as the model is compiled, the optimizer wrapped where float16 needs it.

    Raises:
        ModelError: how the model was compiled is not known, or cannot be made again.
    """
    import keras

    if type(model).compile is not keras.Model.compile:
        raise ModelError(
            f"the model {layer_label(model)} has its own `compile`, so how it was compiled is not "
            "known."
        )
    # Objects instead of their configs, which losses that are functions do not have.
    given = compile_arguments(model)
    optimizer = _from_own_config(given["optimizer"], model)
    if optimizer is not None:
        optimizer = (
            with_loss_scaling(optimizer)
            if float16_layers(twin)
            else without_loss_scaling(optimizer)
        )
    twin.compile(
        optimizer=optimizer,
        loss=given["loss"],
        loss_weights=given["loss_weights"],
        metrics=_fresh_metrics(given["metrics"], model),
        weighted_metrics=_fresh_metrics(given["weighted_metrics"], model),
        run_eagerly=model.run_eagerly,
        steps_per_execution=model.steps_per_execution,
        jit_compile=model.jit_compile,
    )


def with_loss_scaling(optimizer: Any) -> Any:
    """Return an optimizer that scales the loss, as float16 needs it."""
    import keras

    if scaler_in(optimizer) is not None or optimizer.loss_scale_factor is not None:
        return optimizer
    # A scaler leaves out updates that are not finite by itself, and the guard wants no other.
    inner = optimizer.inner_optimizer if _is_guard(optimizer) else optimizer
    return keras.optimizers.LossScaleOptimizer(inner)


def without_loss_scaling(optimizer: Any) -> Any:
    """Return the optimizer inside one that scales the loss."""
    import keras

    is_scaler = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    return optimizer.inner_optimizer if is_scaler else optimizer


def _is_guard(optimizer: Any) -> bool:
    return type(optimizer).__name__ == "GuardedOptimizer"


def _fresh_metrics(metrics: Any, model: Any) -> Any:
    """Return metrics that have counted nothing yet; names and functions are as they are."""
    import keras

    def fresh(metric: Any) -> Any:
        return _from_own_config(metric, model) if isinstance(metric, keras.Metric) else metric

    return _map_nested(fresh, metrics)


def _map_nested(make: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _map_nested(make, one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_map_nested(make, one) for one in value]
    return make(value)


def _from_own_config(thing: Any, model: Any) -> Any:
    """Return an optimizer or a metric made again from its config."""
    import keras

    if thing is None or isinstance(thing, str):
        return keras.optimizers.get(thing)
    parts = [thing, *vars(thing).values(), *_inner_parts(thing)]
    objects = {type(one).__name__: type(one) for one in parts if hasattr(one, "get_config")}
    try:
        with keras.saving.custom_object_scope(objects):
            return type(thing).from_config(thing.get_config())
    except (TypeError, ValueError, KeyError, AttributeError, NotImplementedError) as error:
        raise ModelError(
            f"the model {model.name!r} is compiled with {type(thing).__name__}, which cannot be "
            f"made again from its config ({type(error).__name__}: {error})."
        ) from error


def _inner_parts(thing: Any) -> list[Any]:
    inner = getattr(thing, "inner_optimizer", None)
    return [] if inner is None else list(vars(inner).values())
