"""Finds the layer where gradients go non-finite on the way back from a finite loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quickfit.tuning.numerics import hints
from quickfit.tuning.numerics.blame import first_bad_op
from quickfit.tuning.numerics.culprit import Culprit
from quickfit.tuning.numerics.layers import inputs_of
from quickfit.tuning.numerics.listening import Call, listening
from quickfit.tuning.numerics.step import Step
from quickfit.tuning.numerics.tally import is_all_finite, tally

# Tensors and variables are `Any`: TensorFlow and Keras have no types of their own.


@dataclass(frozen=True)
class Backward:
    """The gradients of one step.

    Attributes:
        calls: of the layers, in the order in which they finished.
        of_weights: a gradient or None for each trainable weight.
        of_outputs: gradients of what layers returned, by the id of the tensor.
    """

    calls: list[Call]
    of_weights: list[Any]
    of_outputs: dict[int, Any]

    def is_bad(self, tensor: Any) -> bool:
        """Tell whether the gradient of what a layer returned is not finite."""
        gradient = self.of_outputs.get(id(tensor))
        return gradient is not None and not is_all_finite(gradient)


def backward(step: Step, *, scaled: bool = True) -> Backward:
    """Run a step forward and back.

    Args:
        step: what to run.
        scaled: scale the loss as the optimizer does.
    """
    import tensorflow as tf

    calls: list[Call] = []
    with tf.GradientTape() as tape:
        with listening(calls.append):
            outputs = step.forward()
        loss = step.total_loss(outputs)
        if scaled and step.optimizer is not None:
            loss = step.optimizer.scale_loss(loss)
    weights = [one.value for one in step.model.trainable_variables]
    returned = [one for call in calls for one in call.outputs if one.dtype.is_floating]
    gradients = tape.gradient(loss, [*weights, *returned])
    pairs = zip(returned, gradients[len(weights) :], strict=True)
    return Backward(calls, gradients[: len(weights)], {id(one): grad for one, grad in pairs})


def bad_gradient(step: Step) -> Culprit | None:
    """Return where gradients are not finite first, walking back from the loss."""
    if not step.model.trainable_variables:
        return None
    run = step.kept["backward"] = backward(step)
    # The weights in the order of the way back: the last layer's first.
    pairs = list(zip(step.model.trainable_variables, run.of_weights, strict=True))[::-1]
    bad = [(w.path, g) for w, g in pairs if g is not None and not is_all_finite(g)]
    if not bad:
        return None
    call = _guilty(run)
    op, place = first_bad_op(lambda: backward(step))
    return Culprit(
        "gradient",
        call.path if call else step.loss_name(),
        tally(bad[0][1]),
        _hint(step, op),
        given=inputs_of(call) if call else (),
        op=op,
        place=place,
        weights=tuple(path for path, _ in bad),
    )


def _guilty(run: Backward) -> Call | None:
    """Return the innermost call that gets a finite gradient and gives others; None: the loss."""
    found: Call | None = None
    for call in reversed(run.calls):  # models come before the layers inside of them
        if (found is None or _is_inside(call, found, run)) and _spoils(call, run):
            found = call
    return found


def _is_inside(call: Call, outer: Call, run: Backward) -> bool:
    return outer is run.calls[-1] or call.path.startswith(f"{outer.path}/")


def _spoils(call: Call, run: Backward) -> bool:
    if any(run.is_bad(one) for one in call.outputs):
        return False
    return any(run.is_bad(one) for one in call.inputs) or _spoils_own_weights(call, run)


def _spoils_own_weights(call: Call, run: Backward) -> bool:
    own = {id(one) for one in getattr(call.layer, "trainable_variables", [])}
    pairs = zip(run.calls[-1].layer.trainable_variables, run.of_weights, strict=True)
    return any(
        id(weight) in own and gradient is not None and not is_all_finite(gradient)
        for weight, gradient in pairs
    )


def _hint(step: Step, op: str | None) -> str:
    scale = getattr(step.optimizer, "dynamic_scale", None)
    if hasattr(step.optimizer, "initial_scale"):
        plain = backward(step, scaled=False).of_weights
        if all(one is None or is_all_finite(one) for one in plain):
            value = step.optimizer.initial_scale if scale is None else float(scale.numpy())
            return hints.of_scaled_gradient(value)
    return step.exploded() or hints.of_gradient(op)
