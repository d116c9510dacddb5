"""The probabilities that a model ends with are computed in float16.

What goes wrong: under the policy `mixed_float16` every layer computes in float16, also the softmax
or sigmoid at the end. There, a probability below 6e-8 is zero and one above 0.9998 is one. The
logarithm in the loss turns these into infinite or constant values; and its gradient, which is one
divided by the probability, is soon larger than 65,504, the largest number of float16. Losses become
NaN, or step after step is left out because its gradients are not finite.

How it shows: the global policy is `mixed_float16`, and the last layer of a model that is trained
has a softmax, or a sigmoid with a loss of probabilities, and no `dtype` of its own.

Example:
    keras.mixed_precision.set_global_policy("mixed_float16")
    model.add(keras.layers.Dense(10, activation="softmax"))

Use instead:
    keras.mixed_precision.set_global_policy("mixed_float16")
    model.add(keras.layers.Dense(10, activation="softmax", dtype="float32"))

Fix class: repairs. The last layer computes in float32 then; it is small, and the others stay as
fast as they are.

When it is wrong: a softmax inside of a model, as attention has it, is left alone; so is an output
for which no training is seen. Most trainings with such a layer end well,
because TensorFlow takes the logits in front of it where it can: it is a hint.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.mixed_precision import float16_setting
from quickfit.causes._shared.model_outputs import activation_name, model_of, trainings
from quickfit.code import Module, Program
from quickfit.code.edits import with_keyword
from quickfit.code.syntax import argument, is_open, keyword_value
from quickfit.code.values import External, Literal, Made
from quickfit.findings import Change, Effect, FixClass, Spotted, Symptom

_LAYERS = ("Dense", "Activation", "Softmax", "Conv1D", "Conv2D", "Conv3D", "EinsumDense")
# At which position these take an activation.
_POSITIONS = {"Dense": 1, "Activation": 0}
_OF_PROBABILITIES = "binary_crossentropy"


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report the last layers of models whose probabilities are in float16."""
    if "oftmax" not in module.text and "igmoid" not in module.text:
        return
    for call in module.calls(*_LAYERS):
        kind = _kind(program, module, call)
        setting = float16_setting(program, module, call) if kind else None
        if setting is None or not _is_trained(program, module, call, kind):
            continue
        yield Spotted(
            where=module.span(call),
            summary=f"the {kind} that the model ends with is computed in float16:"
            " its gradients overflow, and steps are left out or the loss becomes NaN",
            effect=Effect.WRONG,
            related=((setting.module.span(setting.call), "the policy is set here"),),
            change=_change(module, call),
            is_hint=True,
        )


def _kind(program: Program, module: Module, call: ast.Call) -> str:
    """Return `softmax` or `sigmoid` where a layer ends with it in the precision of the policy."""
    maker = program.called(module, call)
    name = maker.removeprefix("keras.layers.")
    if name not in _LAYERS or is_open(call) or keyword_value(call, "dtype") is not None:
        return ""
    if name == "Softmax":
        return "softmax"
    given = argument(call, "activation", _POSITIONS.get(name, 99))
    kinds = {activation_name(value) for value in program.values(module, given)}
    return kinds.pop() if len(kinds) == 1 else ""


def _is_trained(program: Program, module: Module, layer: ast.Call, kind: str) -> bool:
    model = model_of(program, module, layer)
    if model is None:
        return False
    found = trainings(program, module, model)
    if kind == "softmax":
        return next(found, None) is not None
    return any(_has_probabilities(program, other, call) for other, call in found)


def _has_probabilities(program: Program, module: Module, call: ast.Call) -> bool:
    """Tell whether a `compile` gives a loss that takes the logarithm of probabilities."""
    loss = argument(call, "loss", 1) if isinstance(call.func, ast.Attribute) else None
    only = program.only(module, loss)
    if isinstance(only, Literal):
        return only.value == _OF_PROBABILITIES
    if isinstance(only, External):
        return only.name == f"keras.losses.{_OF_PROBABILITIES}"
    if not isinstance(only, Made) or only.maker != "keras.losses.BinaryCrossentropy":
        return False
    logits = argument(only.call, "from_logits", 0)
    return not is_open(only.call) and (
        logits is None or program.literal(only.module, logits, only.frame) is False
    )


def _change(module: Module, call: ast.Call) -> Change | None:
    edit = with_keyword(module, call, "dtype", '"float32"')
    if edit is None:
        return None
    return Change(title="Compute it in float32", kind=FixClass.REPAIRS, edits=(edit,))


CAUSE = Cause(title="A model ends with probabilities in float16", symptom=Symptom.WRONG, scan=scan)
