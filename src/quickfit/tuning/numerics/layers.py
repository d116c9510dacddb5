"""Finds the layer that turned finite numbers into others, and the operation inside of it."""

from __future__ import annotations

from typing import Any

from quickfit.tuning.numerics import hints
from quickfit.tuning.numerics.blame import first_bad_op
from quickfit.tuning.numerics.culprit import Culprit
from quickfit.tuning.numerics.listening import Call, listening, tensors
from quickfit.tuning.numerics.step import Step
from quickfit.tuning.numerics.tally import Tally, is_all_finite, tally

# Tensors are `Any`: TensorFlow has no types of its own.

# More inputs than this are not told of.
_MOST_INPUTS = 3


def bad_layer(step: Step) -> Culprit | None:
    """Return the layer whose output made the outputs of the model non-finite."""
    calls: list[Call] = []
    with listening(calls.append):
        outputs = tensors(step.outputs())
    if all(is_all_finite(one) for one in outputs):
        return None  # such as a mask of -Inf that a softmax has taken in
    beginners = [call for call in calls if _begins(call)]
    if not beginners:
        return None
    ends = {id(one) for one in outputs}
    guilty = next((one for one in beginners if _reaches(one, calls, ends)), beginners[0])
    return _culprit(step, guilty)


def inputs_of(call: Call) -> tuple[tuple[str, Tally], ...]:
    """Return the numbers that went into a call."""
    inputs = call.inputs[:_MOST_INPUTS]
    names = ["goes in"] if len(inputs) == 1 else [f"goes in {n}" for n in range(len(inputs))]
    return tuple((name, tally(one)) for name, one in zip(names, inputs, strict=True))


def _begins(call: Call) -> bool:
    """Tell whether non-finite numbers begin in this call."""
    return all(is_all_finite(one) for one in call.inputs) and not all(
        is_all_finite(one) for one in call.outputs
    )


def _reaches(begin: Call, calls: list[Call], ends: set[int]) -> bool:
    """Tell whether what begins in a call stays non-finite up to the outputs of the model."""
    tainted = {id(one) for one in begin.outputs}
    for call in calls[calls.index(begin) + 1 :]:
        if any(id(one) in tainted for one in call.inputs):
            tainted |= {id(one) for one in call.outputs if not is_all_finite(one)}
    return bool(tainted & ends)


def _culprit(step: Step, call: Call) -> Culprit:
    import keras

    is_layer = isinstance(call.layer, keras.Layer)
    op, place = first_bad_op(lambda: _again(call))
    found = next(tally(one) for one in call.outputs if not is_all_finite(one))
    given = inputs_of(call)
    hint = step.exploded() or hints.of_layer(found, given[0][1] if given else None, op)
    kind = "layer" if is_layer else "op"
    return Culprit(kind, call.path, found, hint, given=given, op=op, place=place)


def _again(call: Call) -> Any:
    """Call a layer as before; alone, it would not know that this is training."""
    wants_training = getattr(call.layer, "_call_has_training_arg", False)
    training = {"training": True} if wants_training and "training" not in call.kwargs else {}
    return call.layer(*call.args, **call.kwargs, **training)
