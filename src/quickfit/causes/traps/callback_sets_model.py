"""A callback of the program gives `self.model` a value, which Keras 3 refuses.

What goes wrong: in Keras 3 `model` is a property of every callback: `fit` sets it. A class derived
from `Callback` that writes `self.model = model` ends with `AttributeError: property 'model' of
... object has no setter`, mostly in its `__init__`.

How it shows: such an assignment in a class derived from `keras.callbacks.Callback`.

Example:
    class Sample(keras.callbacks.Callback):
        def __init__(self, model):
            self.model = model

Use instead:
    class Sample(keras.callbacks.Callback):
        def __init__(self, model):
            super().__init__()
            self.sampled = model

Fix class: show-only. Which model is meant where `self.model` is read is for a person to say; the
one that is trained is there by itself.

When it is wrong: with Keras 2, and where the class has a `model` of its own. Both are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.code import Module, Program
from quickfit.code.values import Class
from quickfit.code.versions import is_version_guarded, uses_legacy_keras
from quickfit.findings import Effect, Spotted, Symptom

CALLBACK = "keras.callbacks.Callback"


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report callbacks that set their model."""
    if "self.model" not in module.text or "allback" not in module.text:
        return
    for node in module.all(ast.Attribute):
        if node.attr != "model" or not isinstance(node.ctx, ast.Store):
            continue
        owner = module.around(node, ast.ClassDef)
        if owner is None or not isinstance(node.value, ast.Name) or node.value.id != "self":
            continue
        ancestors = program.resolver.ancestors(Class(owner, module))
        if not any(name.startswith("keras.callbacks.") for name in ancestors):
            continue
        if program.resolver.attribute(Class(owner, module), "model") and _defines(owner):
            continue
        if not uses_legacy_keras(program, module) and not is_version_guarded(module, node):
            yield Spotted(
                module.span(node),
                f"`{owner.name}` sets `self.model`, which Keras 3 does not let a callback set",
                Effect.CRASHES,
            )


def _defines(owner: ast.ClassDef) -> bool:
    """Tell whether a class has a `model` of its own in its body."""
    for part in owner.body:
        if isinstance(part, ast.FunctionDef) and part.name == "model":
            return True
        targets = part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)]
        if any(isinstance(t, ast.Name) and t.id == "model" for t in targets):
            return True
    return False


CAUSE = Cause(title="A callback sets its model", symptom=Symptom.CRASH, scan=scan)
