"""Finds the layer that turned finite numbers into others, and the operation inside of it."""

from __future__ import annotations

from typing import Any

from quickfit.tuning.numerics import hints
from quickfit.tuning.numerics.blame import Sighting, Witness, watched
from quickfit.tuning.numerics.culprit import Culprit
from quickfit.tuning.numerics.listening import Call, listening, tensors
from quickfit.tuning.numerics.replay import layers_of, unchanged
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
    return blamed(step, calls, outputs)


def blamed(step: Step, calls: list[Call], outputs: list[Any]) -> Culprit | None:
    """Return the first of some calls that made finite numbers non-finite; None if none did.

    Args:
        step: what was run.
        calls: of its layers, in the order in which they finished.
        outputs: that are not finite; who made them so comes first.
    """
    beginners = [call for call in calls if _begins(call)]
    if not beginners:
        return None
    ends = {id(one) for one in outputs}
    guilty = next((one for one in beginners if _reaches(one, calls, ends)), beginners[0])
    witness = _replayed(step, guilty)
    return _of_mask(step, guilty, witness, calls) or _culprit(step, guilty, witness)


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


def _of_mask(step: Step, begin: Call, witness: Witness, calls: list[Call]) -> Culprit | None:
    """Return what made NaN of infinities that were meant, such as a mask; None if none were."""
    source, maker = witness.first, _nan_maker(begin, calls)
    nan = None
    if maker is not None:
        nan = (witness if maker is begin else _replayed(step, maker)).first_nan
    if source is None or maker is None or nan is None or source == nan:
        return None
    # -Inf that was computed, such as log(0), is well for a softmax and a fault elsewhere.
    is_meant = witness.is_written or (source.is_negative and nan.op in hints.SOFTMAXES)
    if not is_meant:
        return None
    found = next(tally(one) for one in maker.outputs if not is_all_finite(one))
    hint = (
        f"{hints.of_infinities(nan.op)} {_remark(begin, source, is_elsewhere=maker is not begin)}"
    )
    given, kind = inputs_of(maker), _kind(maker)
    return Culprit(kind, maker.path, found, hint, given=given, op=nan.op, place=nan.place)


def _nan_maker(begin: Call, calls: list[Call]) -> Call | None:
    """Return the first call that made NaN of what begins in another one, or that one itself."""
    tainted = {id(one) for one in begin.outputs}
    for call in calls[calls.index(begin) :]:
        if call is not begin and not any(id(one) in tainted for one in call.inputs):
            continue
        if any(tally(one).nan for one in call.outputs):
            return call
        tainted |= {id(one) for one in call.outputs if not is_all_finite(one)}
    return None


def _remark(begin: Call, source: Sighting, *, is_elsewhere: bool) -> str:
    what = "-Inf" if source.is_negative else "Inf"
    by = f" of the layer `{begin.path}`" if is_elsewhere else ""
    where = f" at {source.place}" if source.place else ""
    return f"(The {what} comes from the operation {source.op}{by}{where}, and alone does no harm.)"


def _culprit(step: Step, call: Call, witness: Witness) -> Culprit:
    first = witness.first
    op, place = (first.op, first.place) if first else (None, None)
    found = next(tally(one) for one in call.outputs if not is_all_finite(one))
    given = inputs_of(call)
    hint = step.exploded()
    if not hint and hints.is_overflow(op) and found.dtype != "float16" and _recurs(step, call):
        hint = hints.of_recurrence(found.dtype)
    hint = hint or hints.of_layer(found, given[0][1] if given else None, op)
    return Culprit(_kind(call), call.path, found, hint, given=given, op=op, place=place)


def _kind(call: Call) -> str:
    import keras

    return "layer" if isinstance(call.layer, keras.Layer) else "op"


def _recurs(step: Step, call: Call) -> bool:
    """Tell whether a call is one of a recurrent layer or of its cell."""
    import keras

    loops = [one for one in layers_of(step.model) if isinstance(one, keras.layers.RNN)]
    return any(call.layer is part for one in loops for part in one._flatten_layers())


def _replayed(step: Step, call: Call) -> Witness:
    """Watch a call again; statistics that it spoils are put back."""
    with unchanged(step.model, None):
        return watched(lambda: _again(call))


def _again(call: Call) -> Any:
    """Call a layer as before; alone, it would not know that this is training."""
    wants_training = getattr(call.layer, "_call_has_training_arg", False)
    training = {"training": True} if wants_training and "training" not in call.kwargs else {}
    return call.layer(*call.args, **call.kwargs, **training)
