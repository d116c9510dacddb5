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
that nobody is seen to train.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.mixed_precision import float16_setting
from quickfit.code import Module, Program
from quickfit.code.edits import with_keyword
from quickfit.code.imports import files_run_together
from quickfit.code.keras_models import MODEL_BASES
from quickfit.code.syntax import argument, is_open, keyword_value, own_nodes
from quickfit.code.values import Class, External, Group, Instance, Literal, Made, Value
from quickfit.errors import SourceError
from quickfit.findings import Change, Effect, FixClass, Spotted, Symptom

_LAYERS = ("Dense", "Activation", "Softmax", "Conv1D", "Conv2D", "Conv3D", "EinsumDense")
# At which position these take an activation.
_POSITIONS = {"Dense": 1, "Activation": 0}
_SOFTMAX = ("keras.activations.softmax", "tensorflow.nn.softmax", "keras.ops.softmax")
_SIGMOID = ("keras.activations.sigmoid", "tensorflow.nn.sigmoid", "tensorflow.sigmoid")
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
    kinds = {_activation(value) for value in program.values(module, given)}
    return kinds.pop() if len(kinds) == 1 else ""


def _activation(value: Value) -> str:
    name = value.value if isinstance(value, Literal) else ""
    full = value.name if isinstance(value, External) else ""
    if name == "softmax" or full in _SOFTMAX:
        return "softmax"
    return "sigmoid" if name == "sigmoid" or full in _SIGMOID else ""


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


# What a model is known by: the call that makes it, or the class it is of.
Model = ast.Call | ast.ClassDef
_TRAINS = ("compile", "fit", "train_on_batch")
_TRAINED = ("trainable_variables", "trainable_weights")


def model_of(program: Program, module: Module, layer: ast.Call) -> Model | None:
    """Return the model whose last layer a call makes; None for a layer inside, or of no model."""
    above = module.parent(layer)
    if isinstance(above, ast.List | ast.Tuple) and above.elts[-1] is layer:
        made = module.parent(above)
        is_model = isinstance(made, ast.Call) and program.called(module, made) == "keras.Sequential"
        return made if is_model and isinstance(made, ast.Call) else None
    if (
        isinstance(above, ast.Call)
        and layer in above.args
        and isinstance(above.func, ast.Attribute)
    ):
        return _added_last(program, module, above) if above.func.attr == "add" else None
    return _functional(program, module, layer) or _own_class(program, module, layer)


def trainings(program: Program, module: Module, model: Model) -> Iterator[tuple[Module, ast.Call]]:
    """Yield the calls that train a model: `compile`, `fit`, and the gradients of a tape."""
    for path in sorted(files_run_together(program, module.path)):
        try:
            other = program.module(path)
        except SourceError:
            continue
        for call in other.calls(*_TRAINS):
            owner = call.func.value if isinstance(call.func, ast.Attribute) else None
            if owner is not None and _is_it(program, other, owner, model):
                yield other, call
        for call in other.calls("gradient") if "GradientTape" in other.text else ():
            nodes = [n for n in ast.walk(call) if isinstance(n, ast.Attribute)]
            owners = [n.value for n in nodes if n.attr in _TRAINED]
            if any(_is_it(program, other, owner, model) for owner in owners):
                yield other, call


def _is_it(program: Program, module: Module, node: ast.expr, model: Model) -> bool:
    for value in program.values(module, node):
        if isinstance(value, Made) and value.call is model:
            return True
        if isinstance(value, Instance) and value.made.node is model:
            return True
    return False


def _added_last(program: Program, module: Module, add: ast.Call) -> Model | None:
    """Return the Sequential that a layer is added to, where no other is added behind it."""
    assert isinstance(add.func, ast.Attribute)
    owner = add.func.value
    only = program.only(module, owner)
    if not isinstance(only, Made) or only.maker != "keras.Sequential" or module.loops(add):
        return None
    for other in module.calls("add"):
        is_later = module.begin(other) > module.end(add) and isinstance(other.func, ast.Attribute)
        if is_later and program.only(module, other.func.value) == only:  # type: ignore[attr-defined]
            return None
    return only.call


def _functional(program: Program, module: Module, layer: ast.Call) -> Model | None:
    """Return the `keras.Model(inputs, outputs)` that has what a layer gives as an output."""
    for call in module.calls("Model", "Functional"):
        outputs = argument(call, "outputs", 1)
        if outputs is None or program.called(module, call) not in MODEL_BASES:
            continue
        if any(_gives(value, layer) for value in _flat(program, module, outputs)):
            return call
    return None


def _own_class(program: Program, module: Module, layer: ast.Call) -> Model | None:
    """Return the class of models whose `call` returns what a layer gives."""
    owner = module.around(layer, ast.ClassDef)
    if owner is None or not program.resolver.ancestors(Class(owner, module)) & MODEL_BASES:
        return None
    methods = [n for n in owner.body if isinstance(n, ast.FunctionDef) and n.name == "call"]
    for method in methods:
        returned = [n.value for n in own_nodes(method) if isinstance(n, ast.Return) and n.value]
        values = [v for each in returned for v in _flat(program, module, each)]
        if any(_gives(value, layer) for value in values):
            return owner
    return None


def _flat(program: Program, module: Module, node: ast.expr) -> list[Value]:
    """Return what an expression may be; of a list, what it holds."""
    found: list[Value] = []
    for value in program.values(module, node):
        if isinstance(value, Group) and isinstance(value.node, ast.List | ast.Tuple):
            parts = value.node.elts
            found += [v for part in parts for v in program.values(value.module, part)]
        else:
            found.append(value)
    return found


def _gives(value: Value, layer: ast.Call) -> bool:
    if not isinstance(value, Made) or value.method != "__call__":
        return False
    return any(isinstance(owner, Made) and owner.call is layer for owner in value.receiver)


CAUSE = Cause(title="A model ends with probabilities in float16", symptom=Symptom.WRONG, scan=scan)
