"""Tells whether the values of pictures are scaled behind a piece of code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.errors import SourceError
from quickfit.patterns.tensors import origins
from quickfit.program import Module, Program, name_of
from quickfit.program.together import together
from quickfit.program.values import (
    Computed,
    External,
    Item,
    Literal,
    Made,
    Member,
    Parameter,
    Routine,
    Unknown,
    Value,
)

# Bring any values to a scale of their own.
_SCALING = frozenset(
    (
        *("Rescaling", "Normalization", "per_image_standardization", "preprocess_input"),
        *("normalize", "standardize"),
    )
)
# Arithmetic that is written as a call.
_DIVIDING, _MULTIPLYING = ("divide", "truediv", "div"), ("multiply", "scalar_mul")
# Models of Keras that take pictures from 0 to 255 and scale them themselves.
_SCALING_MODELS = ("EfficientNet", "MobileNetV3", "ConvNeXt", "RegNet", "ResNetRS")
_DIVISORS = (255, 256, 127.5, 128)
_TOLERANCE = 1e-4
Quotient = tuple[ast.expr, ast.expr, bool]


def is_rescaled(program: Program, module: Module, call: ast.Call) -> bool:
    """Tell whether what a call gives may be scaled later, also in a file that runs with its own."""
    if _scales(program, module, call):
        return True
    others = together(program, module.path) - {module.path}
    return any(_scales(program, place, call) for place in _read(program, others))


def _read(program: Program, paths: set[str]) -> Iterator[Module]:
    for path in sorted(paths):
        try:
            yield program.module(path)
        except SourceError:
            continue  # reported elsewhere


def _scales(program: Program, module: Module, call: ast.Call) -> bool:
    names = {n.attr for n in module.all(ast.Attribute)} | {n.id for n in module.all(ast.Name)}
    if "preprocess_input" in names or any(n.startswith(_SCALING_MODELS) for n in names):
        return True
    # What the program has written itself is seen by its arithmetic.
    scaling = [c for c in module.calls(*_SCALING) if not _is_own(program, module, c)]
    return bool(scaling) or any(
        _may_scale(program, module, sides, call) for sides in _arithmetic(module)
    )


def _is_own(program: Program, module: Module, call: ast.Call) -> bool:
    values = program.values(module, call.func)
    return bool(values) and all(isinstance(value, Routine) for value in values)


def _arithmetic(module: Module) -> Iterator[Quotient]:
    """Yield what is divided by what, and multiplied with what."""
    for node in module.all(ast.BinOp):
        if isinstance(node.op, ast.Div | ast.Mult):
            yield node.left, node.right, isinstance(node.op, ast.Div)
    for change in module.all(ast.AugAssign):
        if isinstance(change.op, ast.Div | ast.Mult):
            yield change.target, change.value, isinstance(change.op, ast.Div)
    for call in module.calls(*_DIVIDING, *_MULTIPLYING):
        if len(call.args) > 1:
            yield call.args[0], call.args[1], name_of(call.func) in _DIVIDING


def _may_scale(program: Program, module: Module, sides: Quotient, call: ast.Call) -> bool:
    """Tell whether arithmetic may bring the result of a call from 0–255 to a smaller range."""
    picture, number, is_division = sides
    ways = [(picture, number)] if is_division else [(picture, number), (number, picture)]
    return any(
        _is_factor(program.literal(module, factor), is_division=is_division)
        and _may_be(program, module, scaled, call)
        for scaled, factor in ways
    )


def _is_factor(number: object, *, is_division: bool) -> bool:
    if not isinstance(number, int | float) or not number:
        return False
    value = float(number) if is_division else 1 / number
    return any(abs(value - divisor) < _TOLERANCE * divisor for divisor in _DIVISORS)


def _may_be(program: Program, module: Module, picture: ast.expr, call: ast.Call) -> bool:
    """Tell whether an expression may be what a call gives, or anything."""
    if isinstance(picture, ast.Constant):
        return False
    if isinstance(picture, ast.BinOp):
        return _may_be(program, module, picture.left, call)
    found = origins(program, module, picture, ("tensorflow.cast", "arithmetic"))
    return any(_is_open(value, call) for value in found)


def _is_open(value: Value, call: ast.Call) -> bool:
    if isinstance(value, Made):
        return value.call is call or not value.maker or "convert_image_dtype" in value.maker
    if isinstance(value, Literal | External):
        return False
    return isinstance(value, Unknown | Parameter | Item | Member | Computed)
