"""`apply_precision`: a copy of a model that computes in 16 bits where it may, with its weights."""

from __future__ import annotations

import textwrap
import warnings
from typing import Any

from quickfit import terminal
from quickfit.errors import ModelError, QuickfitError, UsageError
from quickfit.tuning.precision.cloning import Clones
from quickfit.tuning.precision.compiling import compile_alike
from quickfit.tuning.precision.configs import custom_objects
from quickfit.tuning.precision.failing import failed_layer, told, whole_tracebacks
from quickfit.tuning.precision.layers import is_graph, named
from quickfit.tuning.precision.lines import lines_for
from quickfit.tuning.precision.planning import FLOAT32, Plan, known_policy, plan_for
from quickfit.tuning.precision.rehearsing import (
    HalfLossError,
    batch_for,
    rehearse,
    require_whole_losses,
)
from quickfit.tuning.precision.state import (
    copy_state,
    copy_trainable,
    part_pairs,
    require_same_weights,
    settle_policies,
)

# Models of Keras are `Any`: Keras has no types of its own.


def apply_precision(model: Any, policy: str = "mixed_float16") -> Any:
    """Return a copy of a model with a dtype policy on its layers; the given one is not touched.

    Output layers, softmaxes, layers that prepare the input and those that float16 breaks stay in
    float32; so do layers that fail in 16 bits, with a warning. The copy has the same weights. Where
    the model is compiled, it is compiled alike, with a new optimizer of the same config; for
    float16 that scales the loss.

    Args:
        model: a Sequential or functional Keras model, also with models inside of it.
        policy: "mixed_float16", "mixed_bfloat16" or "float32".

    Raises:
        UsageError: the policy or the model is none.
        ModelError: the model cannot be made again; the lines to do it by hand are in the text.
    """
    name = known_policy(policy)
    _require_model(model)
    try:
        return _applied(model, name)
    except QuickfitError as error:
        raise ModelError(f"{error}\n{_by_hand(name)}") from error
    except _failures() as error:
        raise ModelError(
            f"the model {named(model)} cannot be made again in {name}: {told(error)}\n"
            f"{_by_hand(name)}"
        ) from error


def _applied(model: Any, policy: str) -> Any:
    if not is_graph(model):
        raise ModelError(
            f"the model {named(model)} is a class of its own, and what its `call` does is not "
            f"known, so {policy} cannot be set on it from outside."
        )
    plan = plan_for(model, policy)
    batch = None if policy == FLOAT32 else batch_for(model, _failures())
    with whole_tracebacks():
        clones, twin = _cloned(model, plan, batch)
    copy_trainable(model, twin, clones.pairs)
    if model.compiled:
        compile_alike(model, twin)
    return twin


def _cloned(model: Any, plan: Plan, batch: Any) -> tuple[Clones, Any]:
    """Return a copy, with layers in float32 that turn out not to work in 16 bits."""
    while True:
        clones = Clones(plan, model)
        try:
            return clones, _tried(clones, model, plan, batch)
        except _failures() as error:
            layers = _to_keep(error, clones, model, plan)
            if not layers:
                raise
            for layer in layers:
                plan.kept[id(layer)] = "does not work in 16 bits"
                text = (
                    f"the layer {named(layer)} does not work in {plan.policy} and stays in "
                    f"float32: {_said(error)}"
                )
                warnings.warn(terminal.escape(text), stacklevel=4)


def _tried(clones: Clones, model: Any, plan: Plan, batch: Any) -> Any:
    """Return a copy with its weights, which has been trained on a batch where there is one."""
    twin = clones.twin(model)
    settle_policies(clones.pairs, plan)
    require_same_weights(model, twin)
    copy_state(part_pairs(clones.pairs))
    if batch is not None:
        rehearse(twin, batch)
        require_whole_losses(clones.pairs)
    return twin


def _to_keep(error: Exception, clones: Clones, model: Any, plan: Plan) -> list[Any]:
    """Return the layers that an error speaks against: where it came from, or all that may be.

    The way back from the loss runs outside of the layers; what fails there is code of the user's.
    """
    found = error.layer if isinstance(error, HalfLossError) else failed_layer(error, clones.pairs)
    is_whole = any(layer is model for layer, _ in clones.pairs)
    layers = [layer for layer, _ in clones.pairs if is_whole and not is_graph(layer)]
    suspects = [layer for layer in layers if custom_objects(layer) or _is_lambda(layer)]
    blamed = suspects if found is None or is_graph(found) else [found]
    return [layer for layer in blamed if plan.policy_of(layer) not in ("", FLOAT32)]


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, HalfLossError) else told(error)


def _is_lambda(layer: Any) -> bool:
    import keras

    return isinstance(layer, keras.layers.Lambda)


def _require_model(model: Any) -> None:
    import keras

    if not isinstance(model, keras.Model):
        raise UsageError(
            f"apply_precision changes models of Keras 3, and was given a {type(model).__module__}."
            f"{type(model).__name__}. Give the model itself: apply_precision(model)."
        )


def _failures() -> tuple[type[Exception], ...]:
    """Return what layers of users raise when they are made again and called with other types."""
    import tensorflow as tf

    own = (TypeError, ValueError, KeyError, AttributeError, NotImplementedError, RuntimeError)
    return (*own, tf.errors.OpError)


def _by_hand(policy: str) -> str:
    lines = textwrap.indent("\n".join(lines_for(policy)), "    ")
    return f"Set it where the model is built instead:\n{lines}"
