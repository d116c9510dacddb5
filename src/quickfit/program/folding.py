"""Arithmetic on numbers that the text of a program gives."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from quickfit.program.values import Literal, Values

# Whole numbers beyond this are no sizes of anything, and may take for ever to compute.
MAX_NUMBER = 10**15
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}


def folded(node: ast.UnaryOp | ast.BinOp, values: Callable[[ast.expr], Values]) -> Literal | None:
    """Return the result of arithmetic on known numbers; None where one is not known."""
    if isinstance(node, ast.UnaryOp):
        number = _number(values(node.operand))
        return Literal(-number) if number is not None and isinstance(node.op, ast.USub) else None
    left, right = _number(values(node.left)), _number(values(node.right))
    compute = _BINARY.get(type(node.op))
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Pow) and 0 <= right <= 40 and abs(left) <= 16:
        return Literal(left**right)
    if compute is None or (right == 0 and not isinstance(node.op, ast.Add | ast.Sub | ast.Mult)):
        return None
    return Literal(compute(left, right))


def _number(values: Values) -> int | float | None:
    if len(values) != 1 or not isinstance(values[0], Literal):
        return None
    value = values[0].value
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if abs(value) < MAX_NUMBER else None
