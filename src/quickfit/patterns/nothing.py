"""Which names still hold nothing (an empty list, 0, None), and which conditions that decides."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from quickfit.program.module import name_of


class Empty:
    """A list, dictionary or set that has nothing in it."""

    def __repr__(self) -> str:
        """Return the mark that stands for all of them."""
        return "EMPTY"


EMPTY, OPEN = Empty(), object()
# What is known of names; a name that is not in it may hold anything.
Env = dict[str, object]
_MAKERS = ("list", "dict", "set", "tuple", "deque")
# Read what they are given, and leave it as it is.
_READERS = frozenset(
    (
        *("len", "print", "bool", "list", "tuple", "zip", "enumerate", "isinstance", "range"),
        *("array", "asarray", "stack", "vstack", "hstack", "concatenate", "convert_to_tensor"),
        *("min", "max", "sum", "sorted", "str", "any", "all", "reversed", "expand_dims"),
    )
)
_LEAVING = ("copy", "index", "count", "clear")
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
# Names of numbers that nobody sets to 0: a batch has at least one sample.
_SIZES = ("batch", "size", "num", "count", "length", "min")


def assigned(node: ast.stmt, env: Env, results: dict[ast.expr, ast.expr]) -> Env:
    """Return what is known behind a simple statement."""
    new = forgotten(node, env)
    if isinstance(node, ast.Assign):
        for target in node.targets:
            new = new | dict(_given(target, results.get(node.value, node.value), env))
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        new = new | dict(_given(node.target, results.get(node.value, node.value), env))
    return new


def forgotten(node: ast.AST, env: Env) -> Env:
    """Return what is still known where everything a node may do has been done."""
    if not env:
        return env
    gone = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            gone.add(part.id)
        elif isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.value, ast.Name):
            if not isinstance(part.ctx, ast.Load):
                gone.add(part.value.id)
        elif isinstance(part, ast.Call):
            gone |= _touched(part)
        elif isinstance(part, ast.Assign | ast.Return | ast.NamedExpr | ast.AnnAssign):
            # A list under a second name may be filled through it.
            gone |= {part.value.id} if isinstance(part.value, ast.Name) else set()
    return {name: value for name, value in env.items() if name not in gone}


def _touched(call: ast.Call) -> set[str]:
    """Return the names whose objects a call may change: that of its method, and its arguments."""
    found = set()
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(owner, ast.Name) and name_of(call.func) not in _LEAVING:
        found.add(owner.id)
    if name_of(call.func) not in _READERS:
        given = [*call.args, *(k.value for k in call.keywords)]
        found |= {a.id for a in given if isinstance(a, ast.Name)}
    return found


def common(one: Env, other: Env) -> Env:
    """Return what is known whichever of two ways was gone."""
    return {n: v for n, v in one.items() if n in other and _is_same(v, other[n])}


def _given(target: ast.expr, value: ast.expr, env: Env) -> list[tuple[str, object]]:
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        if len(target.elts) != len(value.elts):
            return []
        pairs = zip(target.elts, value.elts, strict=True)
        return [found for t, v in pairs for found in _given(t, v, env)]
    if not isinstance(target, ast.Name):
        return []
    known = worth(value, env)
    return [(target.id, known)] if known is not OPEN and not isinstance(value, ast.Name) else []


def worth(node: ast.expr, env: Env) -> object:
    """Return what an expression is worth: a constant, `EMPTY`, or `OPEN`."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return env.get(node.id, OPEN)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return OPEN if node.elts else EMPTY
    if isinstance(node, ast.Dict):
        return OPEN if node.keys else EMPTY
    if isinstance(node, ast.Call):
        return _called(node, env)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Mult):
        return 0 if worth(node.left, env) == 0 else OPEN
    holds = truth(node, env) if isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp) else None
    return OPEN if holds is None else holds


def _called(node: ast.Call, env: Env) -> object:
    name = name_of(node.func)
    if not node.args:
        return EMPTY if name in _MAKERS and not node.keywords else OPEN
    if name == "len" and worth(node.args[0], env) is EMPTY:
        return 0
    return EMPTY if name in _READERS and worth(node.args[0], env) is EMPTY else OPEN


def truth(node: ast.expr, env: Env) -> bool | None:
    """Tell whether a condition holds; None where it may or may not."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = truth(node.operand, env)
        return None if inner is None else not inner
    if isinstance(node, ast.BoolOp):
        parts = [truth(part, env) for part in node.values]
        ends = isinstance(node.op, ast.Or)
        if ends in parts:
            return ends
        return None if None in parts else not ends
    if isinstance(node, ast.Compare):
        return _compared(node, env) if len(node.ops) == 1 else None
    if isinstance(node, ast.UnaryOp):
        return None
    value = worth(node, env)
    return None if value is OPEN else bool(value) and value is not EMPTY


def _compared(node: ast.Compare, env: Env) -> bool | None:
    sign, other = node.ops[0], node.comparators[0]
    left, right = worth(node.left, env), worth(other, env)
    if isinstance(sign, ast.Is | ast.IsNot):
        if left is OPEN or right is not None:
            return None
        return (left is None) == isinstance(sign, ast.Is)
    compare = _COMPARED.get(type(sign))
    if compare is None:
        return None
    if right is OPEN and _is_size(other):
        right = 1
    if left is OPEN and _is_size(node.left):
        left = 1
    if OPEN in (left, right) or not _are_alike(left, right):
        return None
    return bool(compare(left, right))


def _is_size(node: ast.expr) -> bool:
    name = name_of(node).lower()
    return bool(name) and any(word in name for word in _SIZES)


def _are_alike(left: object, right: object) -> bool:
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return numbers or (left is EMPTY and right is EMPTY)


def _is_same(one: object, other: object) -> bool:
    return one is other or (type(one) is type(other) and one == other)
