"""What single expressions and statements mean while a compiled function is traced."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.fixes.bindings import dotted, parameters, writes
from quickfit.fixes.script import Function

_CHANGING = {"append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "sort"}
_LISTS = {"trainable_variables", "trainable_weights", "variables", "weights", "metrics", "layers"}


def stored(body: Sequence[ast.stmt]) -> set[str]:
    """Return every name that is bound inside, also by comprehensions and lambdas."""
    names = writes(*body)
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            if isinstance(node, ast.Lambda):
                names |= set(parameters(node))
    return names


def is_settled(test: ast.expr, given: set[str], local: set[str]) -> bool:
    """Tell whether a test asks only what is known while a function is traced."""
    if isinstance(test, ast.BoolOp):
        return all(is_settled(value, given, local) for value in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return is_settled(test.operand, given, local)
    if isinstance(test, ast.Compare):
        if all(isinstance(op, ast.Is | ast.IsNot) for op in test.ops):
            return True
        return all(is_settled(v, given, local) for v in (test.left, *test.comparators))
    if isinstance(test, ast.Call):
        return dotted(test.func) == "isinstance"
    if isinstance(test, ast.Attribute):
        return dotted(test).startswith("self.") and dotted(test).count(".") == 1
    # A parameter may be a tensor; a constant of the file is no tensor by its capitals.
    is_flag = isinstance(test, ast.Name) and test.id in given - local
    is_constant = isinstance(test, ast.Name) and test.id.isupper() and test.id not in local
    return isinstance(test, ast.Constant) or is_constant or is_flag


def flags_of(function: Function) -> set[str]:
    """Return the parameters that are true or false by their defaults, and `training`."""
    args = function.args
    places = [*args.posonlyargs, *args.args]
    pairs = [*zip(reversed(places), reversed(args.defaults), strict=False)]
    pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d]
    flags = {a.arg for a, d in pairs if isinstance(d, ast.Constant) and type(d.value) is bool}
    return (flags | ({"training"} & set(parameters(function)))) - writes(*function.body)


def is_own_container(node: ast.Attribute | ast.Subscript, body: Sequence[ast.stmt]) -> bool:
    """Tell whether something is stored in a list or dict that the same code made."""
    if not isinstance(node.value, ast.Name):
        return False
    made = [
        s.value
        for statement in body
        for s in ast.walk(statement)
        if isinstance(s, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == node.value.id for t in s.targets)
    ]
    return bool(made) and all(
        isinstance(v, ast.List | ast.Dict | ast.ListComp | ast.DictComp) for v in made
    )


def is_unrolled(iterated: ast.expr) -> bool:
    """Tell whether a loop over this is one of Python, also while it is traced."""
    if isinstance(iterated, ast.Call):
        return dotted(iterated.func) in ("zip", "enumerate", "range", "reversed") and not any(
            isinstance(n, ast.Call) and dotted(n.func) not in ("zip", "len", "range")
            for a in iterated.args
            for n in ast.walk(a)
        )
    return isinstance(iterated, ast.List | ast.Tuple) or (
        isinstance(iterated, ast.Attribute) and iterated.attr in _LISTS
    )


def is_static_shape(value: ast.expr) -> bool:
    """Tell whether an expression is `x.shape[0]` or the like."""
    inner = value.value if isinstance(value, ast.Subscript) else value
    return isinstance(inner, ast.Attribute) and inner.attr == "shape"


def changed_container(node: ast.AST) -> ast.expr | None:
    """Return what a node changes in place: `held[0] = ...` or `held.append(...)`."""
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr in _CHANGING else None
    return None


def sets_by_name(node: ast.AST, attribute: str) -> bool:
    """Tell whether a node may be `setattr(thing, "attribute", ...)`, or the like."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("__dict__", "__setattr__")
    if not isinstance(node, ast.Call) or dotted(node.func) not in ("setattr", "vars"):
        return False
    name = node.args[1] if len(node.args) == 3 else None
    return not isinstance(name, ast.Constant) or name.value == attribute
