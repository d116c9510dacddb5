"""The loss takes logits for probabilities.

What goes wrong: `loss="sparse_categorical_crossentropy"` and its relatives expect probabilities. A
`Dense` without an activation gives logits: any numbers. Keras divides them by their sum and clips
what is below zero, the gradient is nearly always zero or wrong, and the model hardly learns. There
is no error.

How it shows: the model ends with a `Dense` without an activation, and every `compile` of it gives a
crossentropy that is not `from_logits=True`.

Example:
    model = keras.Sequential([keras.layers.Dense(10)])
    model.compile("adam", "sparse_categorical_crossentropy")

Use instead:
    model = keras.Sequential([keras.layers.Dense(10, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")

Fix class: repairs. The layer gives probabilities.

When it is wrong: where the numbers are probabilities already. The other way round, a softmax in
front of a loss with `from_logits=True`, is put right by Keras itself, with a warning.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.model_outputs import model_of, trainings
from quickfit.code import Module, Program
from quickfit.code.edits import with_keyword
from quickfit.code.syntax import argument, is_open, name_of
from quickfit.code.values import External, Literal, Made
from quickfit.findings import Change, Effect, FixClass, Spotted, Symptom

# The losses by their last names, with what has to come before them.
_LOSSES = {
    "sparse_categorical_crossentropy": "softmax",
    "categorical_crossentropy": "softmax",
    "binary_crossentropy": "sigmoid",
}
_CLASSES = {
    "keras.losses.SparseCategoricalCrossentropy": ("softmax", 0),
    "keras.losses.CategoricalCrossentropy": ("softmax", 0),
    "keras.losses.BinaryCrossentropy": ("sigmoid", 0),
}


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report the last layers of models that give logits to a loss of probabilities."""
    if "rossentropy" not in module.text:
        return
    for call in module.calls("Dense"):
        if not _is_linear(program, module, call):
            continue
        model = model_of(program, module, call)
        found = list(trainings(program, module, model)) if model is not None else []
        compiled = [(m, c) for m, c in found if name_of(c.func) == "compile"]
        wanted = {_wanted(program, m, c) for m, c in compiled}
        if len(wanted) != 1 or len({name_of(c.func) for _, c in found} & {"gradient"}):
            continue
        needed = wanted.pop()
        if needed:
            yield _spotted(module, call, needed, compiled[0])


def _is_linear(program: Program, module: Module, call: ast.Call) -> bool:
    """Tell whether a layer surely has no activation."""
    if is_open(call) or program.called(module, call) != "keras.layers.Dense":
        return False
    given = argument(call, "activation", 1)
    values = program.values(module, given)
    return all(isinstance(v, Literal) and v.value in (None, "linear") for v in values)


def _wanted(program: Program, module: Module, call: ast.Call) -> str:
    """Return the activation that a loss of probabilities asks for; empty for any other loss."""
    value = program.only(module, argument(call, "loss", 1))
    if isinstance(value, Literal):
        return _LOSSES.get(str(value.value), "")
    if isinstance(value, External):
        first, _, last = value.name.rpartition(".")
        return _LOSSES.get(last, "") if first in ("keras.losses", "keras.metrics") else ""
    if not isinstance(value, Made) or value.maker not in _CLASSES or is_open(value.call):
        return ""
    needed, at = _CLASSES[value.maker]
    given = argument(value.call, "from_logits", at)
    is_not = given is None or program.literal(value.module, given, value.frame) is False
    return needed if is_not else ""


def _spotted(
    module: Module, call: ast.Call, needed: str, compiled: tuple[Module, ast.Call]
) -> Spotted:
    there, compile_call = compiled
    edit = with_keyword(module, call, "activation", f'"{needed}"')
    kind = FixClass.REPAIRS
    return Spotted(
        module.span(call),
        f"the loss expects probabilities, and this layer gives logits: it has no `{needed}`",
        Effect.WRONG,
        related=((there.span(compile_call), "the loss"),),
        change=Change("Give probabilities", kind, (edit,)) if edit is not None else None,
    )


CAUSE = Cause(title="A loss takes logits for probabilities", symptom=Symptom.WRONG, scan=scan)
