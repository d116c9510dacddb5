"""Where numbers can go non-finite first: data, layers, loss, gradients, updates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from quickfit.compression.keras_internals import with_sublayers
from quickfit.tuning.numerics import hints
from quickfit.tuning.numerics.nan_step import Culprit, NanStep, restore_variables
from quickfit.tuning.numerics.op_watch import (
    LayerCall,
    NumberTally,
    OpSighting,
    OpWitness,
    eager_tensors,
    first_bad_op,
    is_all_finite,
    listen_to_layers,
    named_leaves,
    tally_numbers,
    watch_ops,
)

# Tensors are `Any`: TensorFlow has no types of its own.

# More inputs than this are not told of.
_MOST_INPUTS = 3


def bad_layer(step: NanStep) -> Culprit | None:
    """Return the layer whose output made the outputs of the model non-finite."""
    calls: list[LayerCall] = []
    with listen_to_layers(calls.append):
        outputs = eager_tensors(step.outputs())
    if all(is_all_finite(one) for one in outputs):
        return None  # such as a mask of -Inf that a softmax has taken in
    return blame_call(step, calls, outputs)


def blame_call(step: NanStep, calls: list[LayerCall], outputs: list[Any]) -> Culprit | None:
    """Return the first of some calls that made finite numbers non-finite; None if none did.

    Args:
        step: what was run.
        calls: of its layers, in the order in which they finished.
        outputs: that are not finite; who made them so comes first.
    """
    beginners = [call for call in calls if _begins_nonfinite(call)]
    if not beginners:
        return None
    ends = {id(one) for one in outputs}
    guilty = next((one for one in beginners if _reaches_outputs(one, calls, ends)), beginners[0])
    witness = _replay_watched(step, guilty)
    return _mask_culprit(step, guilty, witness, calls) or _layer_culprit(step, guilty, witness)


def call_inputs(call: LayerCall) -> tuple[tuple[str, NumberTally], ...]:
    """Return the numbers that went into a call."""
    inputs = call.inputs[:_MOST_INPUTS]
    names = ["goes in"] if len(inputs) == 1 else [f"goes in {n}" for n in range(len(inputs))]
    return tuple((name, tally_numbers(one)) for name, one in zip(names, inputs, strict=True))


def _begins_nonfinite(call: LayerCall) -> bool:
    """Tell whether non-finite numbers begin in this call."""
    return all(is_all_finite(one) for one in call.inputs) and not all(
        is_all_finite(one) for one in call.outputs
    )


def _reaches_outputs(begin: LayerCall, calls: list[LayerCall], ends: set[int]) -> bool:
    """Tell whether what begins in a call stays non-finite up to the outputs of the model."""
    tainted = {id(one) for one in begin.outputs}
    for call in calls[calls.index(begin) + 1 :]:
        if any(id(one) in tainted for one in call.inputs):
            tainted |= {id(one) for one in call.outputs if not is_all_finite(one)}
    return bool(tainted & ends)


def _mask_culprit(
    step: NanStep, begin: LayerCall, witness: OpWitness, calls: list[LayerCall]
) -> Culprit | None:
    """Return what made NaN of infinities that were meant, such as a mask; None if none were."""
    source, maker = witness.first, _nan_maker(begin, calls)
    nan = None
    if maker is not None:
        nan = (witness if maker is begin else _replay_watched(step, maker)).first_nan
    if source is None or maker is None or nan is None or source == nan:
        return None
    # -Inf that was computed, such as log(0), is well for a softmax and a fault elsewhere.
    is_meant = witness.is_written or (source.is_negative and nan.op in hints.SOFTMAXES)
    if not is_meant:
        return None
    found = next(tally_numbers(one) for one in maker.outputs if not is_all_finite(one))
    remark = _mask_remark(begin, source, is_elsewhere=maker is not begin)
    hint = f"{hints.of_infinities(nan.op)} {remark}"
    given, kind = call_inputs(maker), _call_kind(maker)
    return Culprit(kind, maker.path, found, hint, given=given, op=nan.op, place=nan.place)


def _nan_maker(begin: LayerCall, calls: list[LayerCall]) -> LayerCall | None:
    """Return the first call that made NaN of what begins in another one, or that one itself."""
    tainted = {id(one) for one in begin.outputs}
    for call in calls[calls.index(begin) :]:
        if call is not begin and not any(id(one) in tainted for one in call.inputs):
            continue
        if any(tally_numbers(one).nan for one in call.outputs):
            return call
        tainted |= {id(one) for one in call.outputs if not is_all_finite(one)}
    return None


def _mask_remark(begin: LayerCall, source: OpSighting, *, is_elsewhere: bool) -> str:
    what = "-Inf" if source.is_negative else "Inf"
    by = f" of the layer `{begin.path}`" if is_elsewhere else ""
    where = f" at {source.place}" if source.place else ""
    return f"(The {what} comes from the operation {source.op}{by}{where}, and alone does no harm.)"


def _layer_culprit(step: NanStep, call: LayerCall, witness: OpWitness) -> Culprit:
    first = witness.first
    op, place = (first.op, first.place) if first else (None, None)
    found = next(tally_numbers(one) for one in call.outputs if not is_all_finite(one))
    given = call_inputs(call)
    hint = step.exploded()
    if (
        not hint
        and hints.is_overflow(op)
        and found.dtype != "float16"
        and _is_recurrent(step, call)
    ):
        hint = hints.of_recurrence(found.dtype)
    hint = hint or hints.of_layer(found, given[0][1] if given else None, op)
    return Culprit(_call_kind(call), call.path, found, hint, given=given, op=op, place=place)


def _call_kind(call: LayerCall) -> str:
    import keras

    return "layer" if isinstance(call.layer, keras.Layer) else "op"


def _is_recurrent(step: NanStep, call: LayerCall) -> bool:
    """Tell whether a call is one of a recurrent layer or of its cell."""
    import keras

    loops = [one for one in with_sublayers(step.model) if isinstance(one, keras.layers.RNN)]
    return any(call.layer is part for one in loops for part in with_sublayers(one))


def _replay_watched(step: NanStep, call: LayerCall) -> OpWitness:
    """Watch a call again; statistics that it spoils are put back."""
    with restore_variables(step.model, None):
        return watch_ops(lambda: _call_again(call))


def _call_again(call: LayerCall) -> Any:
    """Call a layer as before; alone, it would not know that this is training."""
    wants_training = getattr(call.layer, "_call_has_training_arg", False)
    training = {"training": True} if wants_training and "training" not in call.kwargs else {}
    return call.layer(*call.args, **call.kwargs, **training)


# Tensors and variables are `Any`: TensorFlow and Keras have no types of their own.


@dataclass(frozen=True)
class BackwardPass:
    """The gradients of one step.

    Attributes:
        calls: of the layers, in the order in which they finished.
        of_weights: a gradient or None for each trainable weight.
        of_outputs: gradients of what layers returned, by the id of the tensor.
    """

    calls: list[LayerCall]
    of_weights: list[Any]
    of_outputs: dict[int, Any]

    def is_bad(self, tensor: Any) -> bool:
        """Tell whether the gradient of what a layer returned is not finite."""
        gradient = self.of_outputs.get(id(tensor))
        return gradient is not None and not is_all_finite(gradient)


def run_backward(step: NanStep, *, scaled: bool = True) -> BackwardPass:
    """Run a step forward and back.

    Args:
        step: what to run.
        scaled: scale the loss as the optimizer does.
    """
    import tensorflow as tf

    calls: list[LayerCall] = []
    with tf.GradientTape() as tape:
        with listen_to_layers(calls.append):
            outputs = step.forward()
        loss = step.total_loss(outputs)
        if scaled and step.optimizer is not None:
            loss = step.optimizer.scale_loss(loss)
    weights = [one.value for one in step.model.trainable_variables]
    returned = [one for call in calls for one in call.outputs if one.dtype.is_floating]
    gradients = tape.gradient(loss, [*weights, *returned])
    pairs = zip(returned, gradients[len(weights) :], strict=True)
    return BackwardPass(calls, gradients[: len(weights)], {id(one): grad for one, grad in pairs})


def bad_gradient(step: NanStep) -> Culprit | None:
    """Return where gradients are not finite first, walking back from the loss."""
    if not step.model.trainable_variables:
        return None
    run = step.kept["backward"] = run_backward(step)
    # The weights in the order of the way back: the last layer's first.
    pairs = list(zip(step.model.trainable_variables, run.of_weights, strict=True))[::-1]
    bad = [(w.path, g) for w, g in pairs if g is not None and not is_all_finite(g)]
    if not bad:
        return None
    call = _guilty_call(run)
    op, place = first_bad_op(lambda: run_backward(step))
    return Culprit(
        "gradient",
        call.path if call else step.loss_name(),
        tally_numbers(bad[0][1]),
        _gradient_hint(step, op),
        given=call_inputs(call) if call else (),
        op=op,
        place=place,
        weights=tuple(path for path, _ in bad),
    )


def _guilty_call(run: BackwardPass) -> LayerCall | None:
    """Return the innermost call that gets a finite gradient and gives others; None: the loss."""
    found: LayerCall | None = None
    for call in reversed(run.calls):  # models come before the layers inside of them
        if (found is None or _is_inside(call, found, run)) and _spoils_gradient(call, run):
            found = call
    return found


def _is_inside(call: LayerCall, outer: LayerCall, run: BackwardPass) -> bool:
    return outer is run.calls[-1] or call.path.startswith(f"{outer.path}/")


def _spoils_gradient(call: LayerCall, run: BackwardPass) -> bool:
    if any(run.is_bad(one) for one in call.outputs):
        return False
    return any(run.is_bad(one) for one in call.inputs) or _spoils_own_weights(call, run)


def _spoils_own_weights(call: LayerCall, run: BackwardPass) -> bool:
    own = {id(one) for one in getattr(call.layer, "trainable_variables", [])}
    pairs = zip(run.calls[-1].layer.trainable_variables, run.of_weights, strict=True)
    return any(
        id(weight) in own and gradient is not None and not is_all_finite(gradient)
        for weight, gradient in pairs
    )


def _gradient_hint(step: NanStep, op: str | None) -> str:
    scale = getattr(step.optimizer, "dynamic_scale", None)
    if hasattr(step.optimizer, "initial_scale"):
        plain = run_backward(step, scaled=False).of_weights
        if all(one is None or is_all_finite(one) for one in plain):
            value = step.optimizer.initial_scale if scale is None else float(scale.numpy())
            return hints.of_scaled_gradient(value)
    return step.exploded() or hints.of_gradient(op)


# Tensors are `Any`: TensorFlow has no types of its own.

# How TensorFlow 2.16 to 2.21 word it: a label value of 7 which is outside the valid range of [0, 3)
_UNKNOWN_CLASS = re.compile(r"label value of (-?\d+) which is outside the valid range of (.*?\))")


def bad_loss(step: NanStep) -> Culprit | None:
    """Return the loss, or what a layer added to it, if it is not finite."""
    import tensorflow as tf

    outputs = step.outputs()
    try:
        total = step.total_loss(outputs)
    except tf.errors.InvalidArgumentError as error:
        return _unknown_class(step, error)
    if is_all_finite(total):
        return None
    op, place = first_bad_op(lambda: step.total_loss(outputs))
    adding = _adding_layer(step)
    name = adding or _bad_output(step, outputs) or step.loss_name()
    hint = step.exploded() or (hints.of_op(op) if adding else "") or hints.of_loss(op)
    given = _loss_inputs(step, outputs)
    return Culprit("loss", name, tally_numbers(total), hint, given=given, op=op, place=place)


def _unknown_class(step: NanStep, error: Exception) -> Culprit:
    """Return the labels where one is outside of the classes: NaN on a GPU, an error on a CPU."""
    said = _UNKNOWN_CLASS.search(str(error))
    if said is None:
        raise error
    name, labels = next(named_leaves("y", step.y))
    return Culprit(
        "label", name, tally_numbers(labels), hints.of_class(said.group(1), said.group(2))
    )


def _loss_inputs(step: NanStep, outputs: Any) -> tuple[tuple[str, NumberTally], ...]:
    predicted = [
        ("output" + name[1:], tally_numbers(one)) for name, one in named_leaves("o", outputs)
    ]
    labels = [(name, tally_numbers(one)) for name, one in named_leaves("y", step.y)]
    return (*predicted[:2], *labels[:2])


def _adding_layer(step: NanStep) -> str | None:
    """Return the innermost layer whose regularizer or `add_loss` is not finite."""
    guilty = [
        layer
        for layer in with_sublayers(step.model)
        if not all(is_all_finite(one) for one in layer.losses)
    ]
    if not guilty:
        return None
    # Models come before the layers inside of them, and have all of their losses.
    innermost = min(reversed(guilty), key=lambda layer: len(layer.losses))
    return f"{innermost.path} (added loss or regularizer)"


def _bad_output(step: NanStep, outputs: Any) -> str | None:
    """Return the output of several whose loss is not finite."""
    import keras

    losses = dict(named_leaves("", getattr(step.model, "loss", None)))
    labels, predictions = dict(named_leaves("", step.y)), dict(named_leaves("", outputs))
    if step.loss is not None or len(losses) < 2:
        return None
    for name, loss in losses.items():
        if loss is not None and name in labels and name in predictions:
            value = keras.losses.get(loss)(labels[name], predictions[name])
            if not is_all_finite(value):
                return f"{step.loss_name()} of output {name}"
    return None


# Tensors, variables and optimizers are `Any`: TensorFlow and Keras have no types of their own.


def bad_update(step: NanStep) -> Culprit | None:
    """Return the first weight that the optimizer would make non-finite, or its broken slot."""
    optimizer = step.optimizer
    if optimizer is None or not step.model.trainable_variables:
        return None
    for slot in optimizer.variables:
        if not is_all_finite(slot.value):
            is_rate = "learning_rate" in slot.path
            hint = hints.of_update(step.learning_rate()) if is_rate else hints.of_slot()
            return Culprit("update", slot.path, tally_numbers(slot.value), hint)
    if step.model.distribute_strategy.num_replicas_in_sync > 1:
        return None  # an update of mirrored weights needs all replicas
    return _bad_after_update(step, optimizer)


def bad_statistic(step: NanStep) -> Culprit | None:
    """Return the first statistic of a layer that the forward pass makes non-finite."""
    step.outputs()
    for path, value in step.kept["statistics"].items():
        if not is_all_finite(value):
            return Culprit("update", path, tally_numbers(value), hints.of_statistic())
    return None


def _bad_after_update(step: NanStep, optimizer: Any) -> Culprit | None:
    gradients = step.kept["backward"].of_weights
    weights = step.model.trainable_variables
    pairs = [(g, w) for g, w in zip(gradients, weights, strict=True) if g is not None]
    before = {id(weight): tally_numbers(weight.value) for _, weight in pairs}
    if not pairs:
        return None
    _usable_optimizer(optimizer, weights).apply([g for g, _ in pairs], [w for _, w in pairs])
    for gradient, weight in pairs:
        if not is_all_finite(weight.value):
            given = (("before", before[id(weight)]), ("gradient", tally_numbers(gradient)))
            hint = hints.of_update(step.learning_rate())
            return Culprit("update", weight.path, tally_numbers(weight.value), hint, given=given)
    return None


def _usable_optimizer(optimizer: Any, weights: list[Any]) -> Any:
    """Return the optimizer, or one like it where it has no slots yet: none are made in it."""
    if optimizer.built:
        return optimizer
    like = type(optimizer).from_config(optimizer.get_config())
    like.build(weights)
    return like


# Tensors are `Any`: TensorFlow has no types of its own.


def bad_weight(step: NanStep) -> Culprit | None:
    """Return the first weight that is not finite, statistics of layers included."""
    for weight in step.model.weights:
        if not is_all_finite(weight.value):
            hint = hints.of_weight(step.learning_rate())
            return Culprit("weight", weight.path, tally_numbers(weight.value), hint)
    return None


def bad_input(step: NanStep) -> Culprit | None:
    """Return the first input that is not finite."""
    return _first_bad("input", named_leaves("x", step.x))


def bad_label(step: NanStep) -> Culprit | None:
    """Return the first of labels and sample weights that is not finite."""
    return _first_bad(
        "label", [*named_leaves("y", step.y), *named_leaves("sample_weight", step.sample_weight)]
    )


def _first_bad(kind: str, leaves: Iterable[tuple[str, Any]]) -> Culprit | None:
    for name, value in leaves:
        if not is_all_finite(value):
            return Culprit(kind, name, tally_numbers(value), hints.of_input(name))
        culprit = _overflowing_leaf(kind, name, value)
        if culprit is not None:
            return culprit
    return None


def _overflowing_leaf(kind: str, name: str, value: Any) -> Culprit | None:
    """Return a float64 leaf that Keras would turn into Inf."""
    import keras
    import tensorflow as tf

    target = keras.config.floatx()
    if getattr(value, "dtype", None) != tf.float64 or target == "float64":
        return None
    cast = tf.cast(value, target)
    if is_all_finite(cast):
        return None
    given = tally_numbers(value)
    hint = hints.of_overflowing_input(given.largest, target)
    return Culprit(kind, name, tally_numbers(cast), hint, given=(("before", given),))
