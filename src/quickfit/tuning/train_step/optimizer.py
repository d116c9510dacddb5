"""The optimizer of a step and the weights it trains: loss scaling, clipping, 16-bit layers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from quickfit.compression.keras_internals import with_sublayers
from quickfit.errors import UsageError

# Optimizers and models of Keras are `Any`: they have no types of their own.

_CLIPPING = ("clipnorm", "clipvalue", "global_clipnorm")


def optimizer_for(model: Any, optimizer: Any, *, clip: float | None) -> Any:
    """Return the optimizer to step with: the given or the compiled one, wrapped where needed.

    Raises:
        UsageError: there is none, or it clips in a way that would not work.
    """
    import keras

    try:
        chosen = keras.optimizers.get(optimizer or getattr(model, "optimizer", None))
    except ValueError as error:
        raise UsageError(
            f"{optimizer!r} is no optimizer of Keras 3. Give one, keras.optimizers.Adam(1e-3), or "
            'its name, "adam".'
        ) from error
    if chosen is None:
        raise UsageError(
            f"there is no optimizer: the model {model.name!r} is not compiled with one and none "
            'was given. Give one: make_train_step(model, loss, "adam").'
        )
    _refuse_clipping_on_wrappers(chosen)
    if clip is not None:
        _set_clipping(innermost_optimizer(chosen), clip)
    if float16_layers(model) and not _scales_loss(chosen):
        # Keras wraps only where the whole model is mixed_float16, not for single layers.
        chosen = keras.optimizers.LossScaleOptimizer(chosen)
    return chosen


def build_optimizer(optimizer: Any, weights: list[Any]) -> None:
    """Create the optimizer's variables now, since a compiled step may not create any."""
    import tensorflow as tf

    strategy = tf.distribute.get_strategy()
    if getattr(innermost_optimizer(optimizer), "_distribution_strategy", strategy) is not strategy:
        raise UsageError(
            f"the optimizer {optimizer.name!r} was not made under the model's "
            f"{type(strategy).__name__}. Make it inside `with strategy.scope():`, or give its "
            'name: "adam".'
        )
    if not optimizer.built:
        optimizer.build(weights)
        return
    known = {
        id(one) for one in getattr(innermost_optimizer(optimizer), "_trainable_variables", weights)
    }
    missing = [one.path for one in weights if id(one) not in known]
    if missing:
        raise UsageError(
            f"the optimizer {optimizer.name!r} was built for other weights: it does not know "
            f"{', '.join(missing[:3])}{' ...' if len(missing) > 3 else ''}. An optimizer belongs "
            "to one model and to what was trainable then. Make a new one."
        )


def innermost_optimizer(optimizer: Any) -> Any:
    """Return the optimizer that updates the weights, inside its wrappers."""
    return _wrapper_chain(optimizer)[-1]


def scaler_in(optimizer: Any) -> Any:
    """Return the wrapper that scales the loss and skips non-finite updates, or None."""
    import keras

    kind = keras.optimizers.LossScaleOptimizer
    scalers = (one for one in _wrapper_chain(optimizer) if isinstance(one, kind))
    return next(scalers, None)


@contextmanager
def reduced_already(optimizer: Any) -> Iterator[None]:
    """Keep Keras from adding up the gradients of all replicas: the step has done it.

    Keras 3.15 does it after clipping and after its test for finite values, so each replica would
    clip its own part, and the first replica alone would decide for all of them.
    """
    inner = innermost_optimizer(optimizer)
    inner.__dict__["_all_reduce_sum_gradients"] = list
    try:
        yield
    finally:
        del inner.__dict__["_all_reduce_sum_gradients"]


def _wrapper_chain(optimizer: Any) -> list[Any]:
    """Return an optimizer and what it wraps, outermost first."""
    chain = [optimizer]
    while getattr(chain[-1], "inner_optimizer", None) is not None:
        chain.append(chain[-1].inner_optimizer)
    return chain


def _scales_loss(optimizer: Any) -> bool:
    has_factor = innermost_optimizer(optimizer).loss_scale_factor is not None
    return has_factor or scaler_in(optimizer) is not None


def _refuse_clipping_on_wrappers(optimizer: Any) -> None:
    chain = _wrapper_chain(optimizer)
    for wrapper, wrapped in pairwise(chain):
        for name in _CLIPPING:
            if getattr(wrapper, name, None) is not None:
                kind, inner = type(wrapper).__name__, type(wrapped).__name__
                raise UsageError(
                    f"{name}={getattr(wrapper, name)} is set on {kind}, which ignores it: it only "
                    f"wraps {inner}. Clip there: {kind}({inner}(..., {name}=...)), or give clip= "
                    "to make_train_step."
                )


def _set_clipping(inner: Any, clip: float) -> None:
    if not clip > 0:
        raise UsageError(
            f"clip={clip} is not a norm. Give the largest norm that all gradients together may "
            "have, above 0, such as clip=1.0; or None not to clip."
        )
    for name in _CLIPPING:
        value = getattr(inner, name, None)
        if value is not None and not (name == "global_clipnorm" and value == clip):
            raise UsageError(
                f"clip={clip} was given, but {type(inner).__name__} clips already: "
                f"{name}={value}. Leave out one of them."
            )
    inner.global_clipnorm = float(clip)


# Keras has no types of its own: models, layers and variables are `Any` here.


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
    frozen = [layer.name for layer in with_sublayers(model) if not layer.trainable]
    why = f"`trainable` is False for: {', '.join(frozen[:5])}" if frozen else "it has no weights"
    return (
        f"the model {model.name!r} has nothing to train ({why}). Set `layer.trainable = True` on "
        "the layers to train before calling make_train_step."
    )


def batch_statistics(model: Any) -> list[Any]:
    """Return what a forward pass in training changes: moving averages, not frozen weights."""
    frozen = {
        id(variable)
        for layer in with_sublayers(model)
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
    return [layer.name for layer in with_sublayers(model) if layer.compute_dtype == "float16"]


def batch_statistics_layers(model: Any) -> list[str]:
    """Return the names of the layers whose result depends on which examples share a batch."""
    import keras

    return [
        layer.name
        for layer in with_sublayers(model)
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable
    ]


def takes_training(model: Any) -> bool:
    """Tell whether the model's `call` has the argument `training`."""
    from inspect import Parameter, signature

    parameters = signature(model.call).parameters.values()
    return any(one.name == "training" or one.kind is Parameter.VAR_KEYWORD for one in parameters)
