"""The shapes that functions give which reshape, reduce and join arrays."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from quickfit.shapes.shapes import SCALAR, Array, Parts, Shape, Thing, as_array, row, stretched

if TYPE_CHECKING:
    from quickfit.shapes.questions import Question

Rule = Callable[["Question"], Thing | None]


def made(question: Question, name: str, position: int) -> Thing | None:
    """Return an array of the shape that an argument names."""
    return question.fresh(question.sides(name, position))


def _axis(question: Question, name: str, position: int, rank: int) -> int | None:
    found = _axes(question, name, position, rank)
    return found[0] if found is not None and len(found) == 1 else None


def _axes(question: Question, name: str, position: int, rank: int) -> list[int] | None:
    """Return the axes that an argument names, each counted from the first."""
    given, program = question.given(name, position), question.shaping.program
    nodes = given.elts if isinstance(given, ast.Tuple | ast.List) else [given]
    found = [program.literal(question.module, node) for node in nodes]
    axes = [n % rank for n in found if type(n) is int and -rank <= n < rank]
    return axes if len(axes) == len(found) else None


def reduced(question: Question) -> Thing | None:
    """Return what is left of an array when numbers along an axis become one."""
    found = question.array("x", 0)
    if found is None:
        return None
    keeps = question.literal("keepdims", 2, default=False)
    if not question.is_given("axis", 1):
        is_argmax = "arg" in ast.unparse(question.call.func)
        return SCALAR if keeps is False and not is_argmax else None
    axes = _axes(question, "axis", 1, found.rank)
    if axes is None or not isinstance(keeps, bool):
        return None
    sides = [1 if n in axes else side for n, side in enumerate(found.sides)]
    left = [side for n, side in enumerate(sides) if keeps or n not in axes]
    fewer = found.shaped(left, is_batch=0 not in axes)
    return replace(fewer, place=(question.module, question.node))


def _reshape(question: Question) -> Thing | None:
    found = question.array("x", 0)
    numbers = question.call.args if question.is_method else question.call.args[1:]
    if question.is_method and len(numbers) > 1:
        if any(isinstance(n, ast.Starred) for n in numbers):
            return None
        literals = [question.shaping.program.literal(question.module, n) for n in numbers]
        sides: Shape | None = tuple(n if type(n) is int and n >= 0 else None for n in literals)
    else:
        sides = question.sides("shape", 1) or question.sides("newshape", 1)
    if sides is None:
        return None
    if len(sides) == 1 and isinstance(sides[0], int) and sides[0] < 0:
        sides = (None,)
    if found is None:
        return question.fresh(sides)
    is_batch = bool(sides) and sides[0] is None
    return found.shaped(_filled(sides, found.sides), is_batch=is_batch)


def _filled(sides: Shape, before: Shape) -> Shape:
    """Return a shape with its only open side filled, as `-1` is, where all numbers are known."""
    known = [side for side in sides if side is not None]
    numbers = [side for side in before if side is not None]
    if len(known) != len(sides) - 1 or len(numbers) != len(before) or 0 in known:
        return sides
    rest = math.prod(numbers) // math.prod(known)
    return tuple(rest if side is None else side for side in sides)


def _expand(question: Question) -> Thing | None:
    found = question.array("x", 0)
    axis = _axis(question, "axis", 1, found.rank + 1) if found is not None else None
    if found is None or axis is None:
        return None
    return found.shaped((*found.sides[:axis], 1, *found.sides[axis:]), is_batch=axis > 0)


def _squeeze(question: Question) -> Thing | None:
    found = question.array("x", 0)
    if found is None:
        return None
    if question.is_given("axis", 1):
        axis = _axis(question, "axis", 1, found.rank)
        sides = [side for n, side in enumerate(found.sides) if n != axis]
        return found.shaped(sides, is_batch=True) if axis else None
    if None in found.sides[1:]:
        return None
    # The first side is that of a batch, which is one only by chance.
    sides = [side for n, side in enumerate(found.sides) if side != 1 or n == 0]
    return found.shaped(sides, is_batch=True)


def _flat(question: Question) -> Thing | None:
    found = question.array("x", 0)
    return found.shaped((None,)) if found is not None else question.fresh((None,))


def _transpose(question: Question) -> Thing | None:
    found = question.array("x", 0)
    return found.shaped((None,) * found.rank) if found is not None else None


def _stack(question: Question) -> Thing | None:
    found = as_array(question.thing("arrays", 0))
    if found is None or question.given("axis", 1) is None:
        return found
    axis = _axis(question, "axis", 1, found.rank)
    if axis is None:
        return None
    rest = found.sides[1:]
    return found.shaped((*rest[:axis], found.sides[0], *rest[axis:]))


def _joined(question: Question) -> Thing | None:
    parts = question.thing("arrays", 0)
    inner = as_array(row(parts)) if isinstance(parts, Parts | Array) else None
    return inner.shaped((None,) * inner.rank) if inner is not None and inner.rank else None


def _one_hot(question: Question) -> Thing | None:
    found = question.array("indices", 0)
    if found is None or question.is_given("axis", 4):
        return None
    name = "depth" if question.given("depth", 1) is not None else "num_classes"
    return found.shaped((*found.sides, question.number(name, 1)), is_batch=True)


def _to_categorical(question: Question) -> Thing | None:
    found = question.array("x", 0) or question.array("y", 0)
    if found is None:
        return None
    sides = found.sides[:-1] if found.rank > 1 and found.sides[-1] == 1 else found.sides
    return found.shaped((*sides, question.number("num_classes", 1)))


def _randn(question: Question) -> Thing | None:
    args = question.call.args
    if any(isinstance(a, ast.Starred) for a in args):
        return None
    literals = [question.shaping.program.literal(question.module, a) for a in args]
    return question.fresh(tuple(n if type(n) is int else None for n in literals))


def _arange(question: Question) -> Thing | None:
    args = question.call.args
    number = question.number("stop", 0) if len(args) == 1 else None
    return question.fresh((number,))


def _linspace(question: Question) -> Thing | None:
    is_usual = question.given("num", 2) is None
    return question.fresh((50 if is_usual else question.number("num", 2),))


def _permutation(question: Question) -> Thing | None:
    found = question.array("x", 0)
    return found if found is not None and found.sides else question.fresh((None,))


def _where(question: Question) -> Thing | None:
    arrays = [question.array(name, n) for n, name in enumerate(("condition", "x", "y"))]
    return stretched(stretched(arrays[0], arrays[1]), arrays[2])


def _repeat(question: Question) -> Thing | None:
    found = question.array("a", 0)
    is_flat = not question.is_given("axis", 2)
    if found is None:
        return None
    return found.shaped((None,)) if is_flat else found.shaped((None,) * found.rank)


def _eye(question: Question) -> Thing | None:
    number = question.number("N", 0)
    return question.fresh((number, number))


def _padded(question: Question) -> Thing | None:
    return question.fresh((None, question.number("maxlen", 1)))


RULES: dict[str, Rule] = {
    "reshape": _reshape,
    "expand_dims": _expand,
    "squeeze": _squeeze,
    "ravel": _flat,
    "flatten": _flat,
    "transpose": _transpose,
    "stack": _stack,
    "concatenate": _joined,
    "concat": _joined,
    "one_hot": _one_hot,
    "to_categorical": _to_categorical,
    "rand": _randn,
    "randn": _randn,
    "arange": _arange,
    "range": _arange,
    "linspace": _linspace,
    "permutation": _permutation,
    "where": _where,
    "repeat": _repeat,
    "eye": _eye,
    "pad_sequences": _padded,
    "ensure_shape": lambda question: made(question, "shape", 1),
}
