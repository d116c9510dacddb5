"""Tells whether a method that is called is that of a Keras model, where the model is not seen."""

from __future__ import annotations

import ast

from quickfit.program import Module, Program, name_of
from quickfit.program.models import is_model_value
from quickfit.program.values import Item, Literal, Member, Parameter, Unknown, Value

# Arguments that of all that has such a method only Keras models take.
_OWN = {
    "predict": frozenset(("verbose", "batch_size", "steps", "callbacks")),
    "fit": frozenset(("epochs", "batch_size", "steps_per_epoch", "validation_data", "callbacks")),
    "fit_generator": frozenset(("epochs", "steps_per_epoch", "validation_data")),
    "compile": frozenset(("optimizer", "loss", "metrics", "run_eagerly", "jit_compile")),
    "train_on_batch": frozenset(("x", "y", "sample_weight")),
}


def model_of(program: Program, module: Module, call: ast.Call) -> ast.expr | None:
    """Return the Keras model whose method is surely called; None for that of something else."""
    if not isinstance(call.func, ast.Attribute):
        return None
    found = program.values(module, call.func)
    if not found or not all(isinstance(value, Member) for value in found):
        return None  # a method that the program has written itself, or a function of a library
    owners = [v.of for v in found if isinstance(v, Member)]
    models = [owner for owner in owners if is_model_value(program, owner)]
    others = [owner for owner in owners if owner not in models]
    is_own = bool({k.arg for k in call.keywords} & _OWN.get(name_of(call.func), frozenset()))
    # Only Keras has the method that trains on a batch.
    is_own = is_own or name_of(call.func) == "train_on_batch"
    if not all(_is_open(other) for other in others) or not (models or is_own):
        return None
    if any(not isinstance(other, Literal) for other in others) and not is_own:
        return None
    return call.func.value


def _is_open(value: Value) -> bool:
    """Tell whether something may be a model: nobody knows, or it is None until one is made."""
    if isinstance(value, Literal):
        return value.value is None
    return isinstance(value, Parameter | Unknown | Item | Member)
