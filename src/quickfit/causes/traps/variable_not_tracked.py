"""A layer keeps its weights in a `tf.Variable`, which Keras 3 does not see.

What goes wrong: Keras 3 trains and saves what is a `keras.Variable`: what `add_weight` and layers
make. A `tf.Variable` that is an attribute of a layer or model is not among its
`trainable_variables`. `fit` never changes it, and `save` leaves it out. There is no error.

How it shows: a class derived from a Keras layer or model gives an attribute a trainable
`tf.Variable`.

Example:
    class Scale(keras.layers.Layer):
        def build(self, shape):
            self.scale = tf.Variable(tf.ones(shape[-1]))

Use instead:
    class Scale(keras.layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight(shape=(shape[-1],), initializer="ones")

Fix class: show-only. Shape and initial value are for a person to say.

When it is wrong: with Keras 2, which tracks them; and where a train step hands the variable to the
gradient by its name. Both are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.code import Module, Program
from quickfit.code.keras_models import MODEL_BASES
from quickfit.code.syntax import keyword_value
from quickfit.code.values import Class
from quickfit.code.versions import backend, is_version_guarded, uses_legacy_keras
from quickfit.findings import Effect, Spotted, Symptom

_BASES = {"keras.layers.Layer", "keras.Layer", *MODEL_BASES}
_LISTS = ("trainable_variables", "trainable_weights")


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report the variables of layers that Keras does not train."""
    calls = [
        c for c in module.calls("Variable") if program.called(module, c) == "tensorflow.Variable"
    ]
    if not calls or uses_legacy_keras(program, module) or backend(program, module) != "tensorflow":
        return
    for call in calls:
        statement, owner = module.parent(call), module.around(call, ast.ClassDef)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if owner is None or not isinstance(target, ast.Attribute):
            continue
        is_own = isinstance(target.value, ast.Name) and target.value.id == "self"
        if not is_own or not _is_trainable(program, module, call):
            continue
        if is_version_guarded(module, call) or _is_handed_on(module, owner, target.attr):
            continue
        if _BASES & program.resolver.ancestors(Class(owner, module)):
            yield Spotted(
                module.span(call),
                f"`self.{target.attr}` is a `tf.Variable`: Keras 3 neither trains nor saves it",
                Effect.WRONG,
            )


def _is_trainable(program: Program, module: Module, call: ast.Call) -> bool:
    """Tell whether a variable holds numbers that are meant to be learnt."""
    given = keyword_value(call, "trainable")
    if given is not None and program.literal(module, given) is not True:
        return False
    first = call.args[0] if call.args else keyword_value(call, "initial_value")
    is_number = isinstance(first, ast.Constant) and not isinstance(first.value, float)
    dtype = keyword_value(call, "dtype")
    is_counted = dtype is not None and "int" in ast.unparse(dtype)
    return first is not None and not is_number and not is_counted


def _is_handed_on(module: Module, owner: ast.ClassDef, name: str) -> bool:
    """Tell whether the class trains the variable itself, or sets it."""
    for node in ast.walk(owner):
        if isinstance(node, ast.FunctionDef) and node.name in _LISTS:
            return True
        if not isinstance(node, ast.Attribute) or node.attr != name:
            continue
        above = module.parent(node)
        if isinstance(above, ast.List | ast.Tuple):
            return True
        if isinstance(above, ast.Attribute) and above.attr.startswith("assign"):
            return True
    return False


CAUSE = Cause(title="A layer's variable is not trained", symptom=Symptom.WRONG, scan=scan)
