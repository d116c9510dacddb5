"""A model made again, layer by layer, with other dtype policies; the given one is left as it is."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from quickfit.errors import ModelError
from quickfit.tuning.precision.configs import config_of, custom_objects, with_policy
from quickfit.tuning.precision.layers import (
    input_layer,
    is_graph,
    is_layer,
    is_sequential,
    named,
    own_behaviour,
)
from quickfit.tuning.precision.planning import FLOAT32, Plan

# Models, layers and operations of Keras are `Any`: Keras has no types of its own.


class Clones:
    """Makes each layer again once, so that layers that are shared stay shared.

    Args:
        plan: the policy of every layer.
        model: the outermost one.
    """

    def __init__(self, plan: Plan, model: Any) -> None:
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
            return _operation(operation)
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
                f"the model {named(model)} has its own {', '.join(f'`{one}`' for one in lost)}, "
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
            return _lambda(layer)
        config = config_of(layer)
        with keras.saving.custom_object_scope(custom_objects(layer)):
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


def _operation(operation: Any) -> Any:
    """Return a plain operation that has not been called yet."""
    twin = copy.copy(operation)
    twin._inbound_nodes, twin._outbound_nodes = [], []
    if type(twin).__name__ == "Cast" and str(twin.dtype) in ("float16", "bfloat16"):
        # Older releases of Keras put a cast before a layer; what follows casts by itself.
        twin.dtype = "float32"
    return twin


def _lambda(layer: Any) -> Any:
    """Return a Lambda around the same function, which a config would lose or refuse."""
    import keras

    return keras.layers.Lambda(
        layer.function,
        output_shape=layer._output_shape,
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
