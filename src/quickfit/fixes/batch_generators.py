"""Reads loops over a generator of the script that yields the batches for `train_on_batch`."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from quickfit.fixes.bindings import dotted, own_nodes, parameters, writes
from quickfit.fixes.script import Script


def generator_steps(script: Script, value: ast.expr, scripts: Sequence[Script], model: str) -> str:
    """Return the code of how many batches a call of a generator yields, where `fit` can take them.

    It has to yield pairs of rows, one in each turn of a loop over an array. Nothing if unclear.
    """
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return ""
    found = [f for s in scripts for f in s.all(ast.FunctionDef) if f.name == value.func.id]
    if len(found) != 1 or found[0].decorator_list or value.keywords:
        return ""
    function = found[0]
    yields = [n for n in own_nodes(*function.body) if isinstance(n, ast.Yield | ast.YieldFrom)]
    names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    if len(yields) != 1 or model.partition(".")[0] in names or not _is_pair(function, yields[0]):
        return ""
    return _count(script, function, value, yields[0])


def _count(
    script: Script, function: ast.FunctionDef, call: ast.Call, made: ast.Yield | ast.YieldFrom
) -> str:
    """Return how often `for start in range(0, len(x), size): yield ...` goes round."""
    loop = function.body[-1]
    is_loop = isinstance(loop, ast.For) and not loop.orelse
    if not is_loop or not isinstance(loop, ast.For) or not isinstance(loop.body[-1], ast.Expr):
        return ""
    leaves = any(isinstance(n, ast.Break | ast.Continue | ast.Return) for n in ast.walk(function))
    begin = ast.unparse(loop.iter)
    match = re.fullmatch(r"range\(0, len\((\w+)\), (\w+)\)", begin)
    if loop.body[-1].value is not made or leaves or match is None:
        return ""
    given = dict(zip(parameters(function), call.args, strict=False))
    own = writes(*function.body)
    codes = []
    for name in match.groups():
        value = given.get(name)
        if name in own or not isinstance(value, ast.Name | ast.Constant | ast.Attribute):
            return ""
        codes.append(script.code(value))
    return f"(len({codes[0]}) + {codes[1]} - 1) // {codes[1]}"


def _is_pair(function: ast.FunctionDef, node: ast.Yield | ast.YieldFrom) -> bool:
    """Tell whether a batch is inputs and targets, each an array."""
    value = node.value
    if isinstance(node, ast.YieldFrom) or not isinstance(value, ast.Tuple):
        return False
    return len(value.elts) == 2 and all(_is_array(function, part) for part in value.elts)


def _is_array(function: ast.FunctionDef, part: ast.expr) -> bool:
    """Tell whether a part of a batch is rows of an array.

    Keras looks at two batches only: padding that differs between batches would fail in a later one.
    """
    if isinstance(part, ast.Name):
        stores = [n for n in own_nodes(*function.body) if isinstance(n, ast.Assign)]
        named = [s for s in stores if any(dotted(target) == part.id for target in s.targets)]
        is_other = any(isinstance(s.value, ast.Name) for s in named)
        is_own = len(named) == 1 and part.id not in parameters(function)
        return is_own and not is_other and _is_array(function, named[0].value)
    if isinstance(part, ast.BinOp):
        return _is_array(function, part.left) and isinstance(part.right, ast.Constant)
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
        return part.func.attr == "astype" and _is_array(function, part.func.value)
    return isinstance(part, ast.Subscript) and bool(dotted(part.value))
