"""Which layer a model ends with, and the calls that train it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.code import Module, Program
from quickfit.code.imports import files_run_together
from quickfit.code.keras_models import MODEL_BASES
from quickfit.code.syntax import argument, own_nodes
from quickfit.code.values import Class, External, Group, Instance, Literal, Made, Value
from quickfit.errors import SourceError

SOFTMAX = ("keras.activations.softmax", "tensorflow.nn.softmax", "keras.ops.softmax")
SIGMOID = ("keras.activations.sigmoid", "tensorflow.nn.sigmoid", "tensorflow.sigmoid")


def activation_name(value: Value) -> str:
    """Return `softmax` or `sigmoid` where an activation is one of them; else empty."""
    name = value.value if isinstance(value, Literal) else ""
    full = value.name if isinstance(value, External) else ""
    if name == "softmax" or full in SOFTMAX:
        return "softmax"
    return "sigmoid" if name == "sigmoid" or full in SIGMOID else ""


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
