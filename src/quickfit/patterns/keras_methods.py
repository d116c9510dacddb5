"""Tells whether a method that is called, or an attribute that is read, is that of a Keras model."""

from __future__ import annotations

import ast

from quickfit.program import Module, Program
from quickfit.program.models import is_model_value
from quickfit.program.values import Instance, Literal, Made, Member, Routine, Value

_CALLBACK = "keras.callbacks.Callback"
# Of all that has a method `compile`, only Keras models take these.
_COMPILE = frozenset(("optimizer", "loss", "metrics"))
_ONLY_KERAS = frozenset(("fit_generator", "evaluate_generator", "predict_generator"))
# No other library has arguments of these names for such methods.
_OWN = frozenset(
    (
        *("steps_per_epoch", "validation_steps", "use_multiprocessing", "max_queue_size"),
        *("validation_freq", "initial_epoch"),
    )
)


def is_models(program: Program, module: Module, node: ast.expr) -> bool:
    """Tell whether `node` in `node.name` is surely a Keras model; the name must be Keras's own."""
    above = module.parent(node)
    if not isinstance(above, ast.Attribute):
        return False
    if any(isinstance(v, Routine) for v in program.values(module, above)):
        return False  # the program has written such a method itself
    values = [v for v in program.values(module, node) if not _is_none(v)]
    if values and all(_is_model(program, value) for value in values):
        return True
    if any(_is_other(value) for value in values):
        return False
    return is_compiled(module, node) or _has_own_arguments(module, above)


def is_compiled(module: Module, node: ast.expr) -> bool:
    """Tell whether a file calls `compile` of something by the same name, as Keras has it."""
    calls = module.calls("compile")
    code = module.code(node) if calls else ""
    for call in calls:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_keras = any(k.arg in _COMPILE for k in call.keywords)
        if owner is not None and is_keras and module.code(owner) == code:
            return True
    return False


def _is_model(program: Program, value: Value) -> bool:
    if is_model_value(program, value):
        return True
    # Keras gives every callback the model that is trained.
    is_given = isinstance(value, Member) and value.name == "model"
    return is_given and isinstance(value, Member) and _CALLBACK in program.ancestors(value.of)


def _is_other(value: Value) -> bool:
    """Tell whether something is surely no model of this Keras."""
    if isinstance(value, Made):
        return value.maker.startswith(("tf_keras", "sklearn", "keras.", "builtins", "torch"))
    return isinstance(value, Instance | Literal)


def _is_none(value: Value) -> bool:
    return isinstance(value, Literal) and value.value is None


def _has_own_arguments(module: Module, method: ast.Attribute) -> bool:
    call = module.parent(method)
    if not isinstance(call, ast.Call) or call.func is not method:
        return False
    is_near = "keras" in module.text or "tensorflow" in module.text
    is_own = method.attr in _ONLY_KERAS or any(k.arg in _OWN for k in call.keywords)
    return is_near and is_own
