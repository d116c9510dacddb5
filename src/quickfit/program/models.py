"""Tells which expressions are Keras models."""

from __future__ import annotations

import ast

from quickfit.program import Module, Program
from quickfit.program.values import Instance, Made, Value

MAKERS = frozenset(
    (
        *("keras.Sequential", "keras.Model", "keras.Functional", "keras.models.load_model"),
        *("keras.models.clone_model", "keras.saving.load_model", "keras.models.model_from_json"),
    )
)
BASES = frozenset(("keras.Model", "keras.Sequential", "keras.Functional"))


def is_model(program: Program, module: Module, node: ast.expr) -> bool:
    """Tell whether an expression is surely a Keras model."""
    values = program.values(module, node)
    return bool(values) and all(is_model_value(program, value) for value in values)


def is_model_value(program: Program, value: Value) -> bool:
    """Tell whether something is a Keras model: made by Keras, or of a class derived from its."""
    if isinstance(value, Instance):
        return bool(program.ancestors(value) & BASES)
    if not isinstance(value, Made):
        return False
    made = value.maker
    return made in MAKERS or _is_application(made)


def _is_application(maker: str) -> bool:
    """Tell whether a name is `keras.applications.resnet50.ResNet50`, not a function beside it."""
    return maker.startswith("keras.applications.") and maker.rsplit(".", 1)[1][:1].isupper()
