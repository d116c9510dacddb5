"""Compiles a copy of a model as the model was: the same loss, metrics and optimizer, new state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quickfit.errors import ModelError
from quickfit.tuning.precision.layers import named
from quickfit.tuning.stepping.optimizer import scaler_in
from quickfit.tuning.stepping.weights import float16_layers

# Models, optimizers, losses and metrics of Keras are `Any`: Keras has no types of its own.


def compile_alike(model: Any, twin: Any) -> None:
    """Compile a copy as the model is compiled, the optimizer wrapped where float16 needs it.

    Raises:
        ModelError: how the model was compiled is not known, or cannot be made again.
    """
    import keras

    if type(model).compile is not keras.Model.compile:
        raise ModelError(
            f"the model {named(model)} has its own `compile`, so how it was compiled is not known."
        )
    # Objects instead of their configs, which losses that are functions do not have.
    given = model._compile_config.config
    optimizer = _again(given["optimizer"], model)
    if optimizer is not None:
        optimizer = scaled(optimizer) if float16_layers(twin) else unscaled(optimizer)
    twin.compile(
        optimizer=optimizer,
        loss=given["loss"],
        loss_weights=given["loss_weights"],
        metrics=_metrics(given["metrics"], model),
        weighted_metrics=_metrics(given["weighted_metrics"], model),
        run_eagerly=model.run_eagerly,
        steps_per_execution=model.steps_per_execution,
        jit_compile=model.jit_compile,
    )


def scaled(optimizer: Any) -> Any:
    """Return an optimizer that scales the loss, as float16 needs it."""
    import keras

    if scaler_in(optimizer) is not None or optimizer.loss_scale_factor is not None:
        return optimizer
    # A scaler leaves out updates that are not finite by itself, and the guard wants no other.
    inner = optimizer.inner_optimizer if _is_guard(optimizer) else optimizer
    return keras.optimizers.LossScaleOptimizer(inner)


def unscaled(optimizer: Any) -> Any:
    """Return the optimizer inside one that scales the loss."""
    import keras

    is_scaler = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    return optimizer.inner_optimizer if is_scaler else optimizer


def _is_guard(optimizer: Any) -> bool:
    return type(optimizer).__name__ == "GuardedOptimizer"


def _metrics(metrics: Any, model: Any) -> Any:
    """Return metrics that have counted nothing yet; names and functions are as they are."""
    import keras

    def fresh(metric: Any) -> Any:
        return _again(metric, model) if isinstance(metric, keras.Metric) else metric

    return _mapped(fresh, metrics)


def _mapped(make: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(make, one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(make, one) for one in value]
    return make(value)


def _again(thing: Any, model: Any) -> Any:
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
