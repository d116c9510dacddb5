"""`apply_precision`: a copy of a model that computes in 16 bits where it may, with its weights."""

from __future__ import annotations

import re
import textwrap
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from quickfit import terminal
from quickfit.compression.keras_internals import with_sublayers
from quickfit.errors import ModelError, QuickfitError, UsageError
from quickfit.tuning.numerics.nan_step import restore_variables
from quickfit.tuning.precision.cloning import (
    LayerClones,
    compile_alike,
    copy_layer_state,
    copy_trainable,
    layer_custom_objects,
    part_pairs,
    require_same_weights,
    settle_policies,
)
from quickfit.tuning.precision.policies import (
    FLOAT32,
    PolicyPlan,
    is_graph,
    is_sequential,
    known_policy,
    layer_label,
    plan_for,
    policy_lines,
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
        return _apply_policy(model, name)
    except QuickfitError as error:
        raise ModelError(f"{error}\n{_lines_by_hand(name)}") from error
    except _layer_failures() as error:
        raise ModelError(
            f"the model {layer_label(model)} cannot be made again in {name}: {short_error(error)}\n"
            f"{_lines_by_hand(name)}"
        ) from error


def _apply_policy(model: Any, policy: str) -> Any:
    if not is_graph(model):
        raise ModelError(
            f"the model {layer_label(model)} is a class of its own, and what its `call` does is "
            f"not known, so {policy} cannot be set on it from outside."
        )
    plan = plan_for(model, policy)
    batch = None if policy == FLOAT32 else batch_for(model, _layer_failures())
    with whole_tracebacks():
        clones, twin = _clone_model(model, plan, batch)
    copy_trainable(model, twin, clones.pairs)
    if model.compiled:
        compile_alike(model, twin)
    return twin


def _clone_model(model: Any, plan: PolicyPlan, batch: Any) -> tuple[LayerClones, Any]:
    """Return a copy, with layers in float32 that turn out not to work in 16 bits."""
    while True:
        clones = LayerClones(plan, model)
        try:
            return clones, _try_clone(clones, model, plan, batch)
        except _layer_failures() as error:
            layers = _layers_to_keep(error, clones, model, plan)
            if not layers:
                raise
            for layer in layers:
                plan.kept[id(layer)] = "does not work in 16 bits"
                text = (
                    f"the layer {layer_label(layer)} does not work in {plan.policy} and stays in "
                    f"float32: {_error_text(error)}"
                )
                warnings.warn(terminal.escape(text), stacklevel=4)


def _try_clone(clones: LayerClones, model: Any, plan: PolicyPlan, batch: Any) -> Any:
    """Return a copy with its weights, which has been trained on a batch where there is one."""
    twin = clones.twin(model)
    settle_policies(clones.pairs, plan)
    require_same_weights(model, twin)
    copy_layer_state(part_pairs(clones.pairs))
    if batch is not None:
        rehearse_model(twin, batch)
        require_whole_losses(clones.pairs)
    return twin


def _layers_to_keep(
    error: Exception, clones: LayerClones, model: Any, plan: PolicyPlan
) -> list[Any]:
    """Return the layers that an error speaks against: where it came from, or all that may be.

    The way back from the loss runs outside of the layers; what fails there is code of the user's.
    """
    import keras

    found = error.layer if isinstance(error, HalfLossError) else failed_layer(error, clones.pairs)
    is_whole = any(layer is model for layer, _ in clones.pairs)
    layers = [layer for layer, _ in clones.pairs if is_whole and not is_graph(layer)]
    suspects = [
        layer
        for layer in layers
        if layer_custom_objects(layer) or isinstance(layer, keras.layers.Lambda)
    ]
    blamed = suspects if found is None or is_graph(found) else [found]
    return [layer for layer in blamed if plan.policy_of(layer) not in ("", FLOAT32)]


def _error_text(error: Exception) -> str:
    return str(error) if isinstance(error, HalfLossError) else short_error(error)


def _require_model(model: Any) -> None:
    import keras

    if not isinstance(model, keras.Model):
        raise UsageError(
            f"apply_precision changes models of Keras 3, and was given a {type(model).__module__}."
            f"{type(model).__name__}. Give the model itself: apply_precision(model)."
        )


def _layer_failures() -> tuple[type[Exception], ...]:
    """Return what layers of users raise when they are made again and called with other types."""
    import tensorflow as tf

    own = (TypeError, ValueError, KeyError, AttributeError, NotImplementedError, RuntimeError)
    return (*own, tf.errors.OpError)


def _lines_by_hand(policy: str) -> str:
    lines = textwrap.indent("\n".join(policy_lines(policy)), "    ")
    return f"Set it where the model is built instead:\n{lines}"


# Layers of Keras are `Any`: Keras has no types of its own.

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Keras ends its messages with all arguments of the call.
_ARGUMENTS = "Arguments received by"
_MOST_LINES = 4


@contextmanager
def whole_tracebacks() -> Iterator[None]:
    """Keep Keras from cutting its own frames out of tracebacks: they name the layers.

    What is left otherwise are frames of the user's, where a layer is called `self` or anything
    else, or is not there at all, as in the function of a Lambda.
    """
    import keras

    before = keras.config.is_traceback_filtering_enabled()
    keras.config.disable_traceback_filtering()
    try:
        yield
    finally:
        if before:
            keras.config.enable_traceback_filtering()


def failed_layer(error: BaseException, pairs: list[tuple[Any, Any]]) -> Any:
    """Return the layer in whose copy an error happened, the innermost one; None if in none.

    Args:
        error: as it was raised.
        pairs: layers and their copies.
    """
    owners = {id(part): layer for layer, twin in pairs for part in with_sublayers(twin)}
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        # Keras calls it `self`; whoever takes over a layer's method may call it otherwise.
        first = frame.f_code.co_varnames[:1] if frame.f_code.co_argcount else ()
        for name in (*first, "self"):
            found = owners.get(id(frame.f_locals.get(name)), found)
    return found


def short_error(error: BaseException) -> str:
    """Return an error of Keras as its first lines, without colours and arguments."""
    error = _lambda_cause(error)
    text = _COLOURS.sub("", str(error)).split(_ARGUMENTS)[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{type(error).__name__}: " + "\n".join(lines[:_MOST_LINES])


def _lambda_cause(error: BaseException) -> BaseException:
    """Return what a Lambda failed with, which Keras tells as a shape that it cannot infer."""
    inner = error.__context__
    is_said_otherwise = isinstance(error, NotImplementedError) and inner is not None
    return inner if inner is not None and is_said_otherwise else error


# Models, layers and tensors of Keras are `Any`: Keras has no types of its own.

_EXAMPLES = 2
# For axes of any length: a small one, and one that a few poolings leave something of.
_LENGTHS = (4, 64)
_SIXTEEN = ("float16", "bfloat16")


class HalfLossError(TypeError):
    """A layer adds a loss in 16 bits, and Keras cannot add that to the others.

    Args:
        layer: of the model, not of its copy.
        dtype: of the loss.
    """

    def __init__(self, layer: Any, dtype: str) -> None:
        super().__init__(f"it adds a loss in {dtype}, and Keras sums losses in float32")
        self.layer = layer


def batch_for(model: Any, failures: tuple[type[Exception], ...]) -> Any:
    """Return inputs that a model can be trained on; None where none are found.

    Args:
        model: it is trained on them, and put back.
        failures: what it raises where it cannot be.
    """
    if not model.built or not getattr(model, "inputs", None):
        return None
    for length in _LENGTHS:
        try:
            batch = _make_batch(model, length)
            rehearse_model(model, batch)
        except failures:
            continue
        finally:
            model._clear_losses()  # what its layers added in the rehearsal
        return batch
    return None


def rehearse_model(model: Any, batch: Any) -> None:
    """Run a model forward and back, as in training; eagerly, so that an error names its place.

    The loss is left out, since labels are not known: what it gets is in float32 in any case.
    """
    import keras
    import tensorflow as tf

    with restore_variables(model, None), tf.GradientTape() as tape:
        outputs = model(batch, training=True)
        floats = [one for one in keras.tree.flatten(outputs) if one.dtype.is_floating]
        parts = [tf.reduce_sum(tf.cast(one, tf.float32)) for one in (*floats, *model.losses)]
        total = tf.add_n(parts) if parts else None
    if total is not None:
        tape.gradient(total, [one.value for one in model.trainable_variables])


def require_whole_losses(pairs: Iterable[tuple[Any, Any]]) -> None:
    """Refuse what layers added to the loss in the last rehearsal, where it is in 16 bits.

    Raises:
        HalfLossError: one does.
    """
    for layer, twin in pairs:
        for loss in () if is_graph(layer) else twin.losses:
            if loss.dtype.name in _SIXTEEN:
                raise HalfLossError(layer, loss.dtype.name)


def _make_batch(model: Any, length: int) -> Any:
    import keras

    given = model.inputs[0] if is_sequential(model) else model._inputs_struct
    return keras.tree.map_structure(lambda one: _fill_input(one, length), given)


def _fill_input(given: Any, length: int) -> Any:
    """Return numbers for an input: zeros are ids that every table has."""
    import tensorflow as tf

    first, *rest = given.shape
    shape = [first or _EXAMPLES, *(length if one is None else one for one in rest)]
    dtype = tf.as_dtype(given.dtype)
    made = tf.ones(shape, dtype) if dtype.is_floating else tf.zeros(shape, dtype)
    return tf.sparse.from_dense(made) if given.sparse else made
