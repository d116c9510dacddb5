"""Takes all numbers out of a tensor at once, where Python asks for them one by one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from quickfit.findings import FixClass
from quickfit.fixes.bindings import (
    binders,
    dotted,
    imported,
    own_nodes,
    parameters,
    scope_of,
    value_of,
    writes,
)
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.frozen_layers import calls_of
from quickfit.fixes.graph_code import argument
from quickfit.fixes.script import Function, Script
from quickfit.fixes.step_values import is_compiled

TITLE = "Take all values out of the tensor at once"
_NUMBERS = {"float", "int"}
# Operations that give one tensor, whatever they are given.
_ONE_TENSOR = re.compile(
    r"\.(reduce_\w+|square|squeeze|abs|cast|sqrt|norm|stack|concat|exp|log|one_hot|gather|maximum"
    r"|minimum|argmax|reshape|equal|\w*cross_entropy\w*|softmax|sigmoid|relu|squared_difference)$"
)
Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
Turns = ast.For | Comprehension


def values_at_once(script: Script, line: int, scripts: Sequence[Script]) -> Change | None:
    """Read a tensor as one array where the code at a line reads its elements one by one."""
    nodes: list[Comprehension] = [*script.all(ast.ListComp), *script.all(ast.GeneratorExp)]
    for node in nodes:
        if node.lineno <= line <= (node.end_lineno or 0):
            edits = _iterated(script, node, scripts)
            if edits:
                return Change(TITLE, FixClass.SAME_RESULTS, edits)
    loops = [n for n in script.all(ast.For) if n.lineno <= line <= (n.end_lineno or 0)]
    edits = _indexed(script, loops[-1], line, scripts) if loops else ()
    return Change(TITLE, FixClass.SAME_RESULTS, edits) if edits else None


# -- for value in tensor ----------------------------------------------------------------------


def _iterated(script: Script, node: Comprehension, scripts: Sequence[Script]) -> tuple[Edit, ...]:
    """Return the edits for `[float(value) for value in tensor]`."""
    if len(node.generators) != 1 or node.generators[0].is_async:
        return ()
    made = node.generators[0]
    if not isinstance(made.iter, ast.Name) or not isinstance(made.target, ast.Name):
        return ()
    uses = _uses(node, made.target.id)
    if not uses or not all(_is_number(script, use) for use in uses):
        return ()
    if not is_tensor(script, made.iter, scripts):
        return ()
    return (script.replace(made.iter, f"{made.iter.id}.numpy()"),)


def _uses(node: ast.AST, name: str) -> list[ast.Name]:
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name)
    return [n for n in names if isinstance(n.ctx, ast.Load)]


def _is_number(script: Script, use: ast.expr) -> bool:
    """Tell whether an expression is the argument of `float` or `int`, and no more."""
    call = script.parent(use)
    if not isinstance(call, ast.Call) or call.args != [use] or call.keywords:
        return False
    return dotted(call.func) in _NUMBERS


# -- tensor[number] ---------------------------------------------------------------------------


def _indexed(
    script: Script, loop: ast.For, line: int, scripts: Sequence[Script]
) -> tuple[Edit, ...]:
    """Return the edits for `float(tensor[number])` in each turn of a loop."""
    taken = [n for n in script.all(ast.Subscript, loop) if _is_element(script, loop, n)]
    names = {n.value.id for n in taken if isinstance(n.value, ast.Name)}
    here = [n for n in taken if n.lineno <= line <= (n.end_lineno or 0)]
    if len(names) != 1 or not here or not isinstance(here[0].value, ast.Name):
        return ()
    tensor = here[0].value
    if tensor.id in writes(loop) or len(_uses(loop, tensor.id)) != len(taken):
        return ()
    array = f"{tensor.id}_values"
    if re.search(rf"\b{array}\b", script.text) or not is_tensor(script, tensor, scripts):
        return ()
    made = script.insert_before(loop, f"{array} = {tensor.id}.numpy()")
    if made is None:
        return ()
    return (made, *(script.replace(n.value, array) for n in taken))


def _is_element(script: Script, loop: ast.For, node: ast.Subscript) -> bool:
    index = node.slice
    is_own = isinstance(index, ast.Name) and index.id in writes(loop.target)
    return isinstance(node.value, ast.Name) and is_own and _is_number(script, node)


# -- tensors ----------------------------------------------------------------------------------


def is_tensor(script: Script, name: ast.Name, scripts: Sequence[Script]) -> bool:
    """Tell whether a name is certainly one tensor that a compiled function returned."""
    scope = scope_of(script, name)
    if isinstance(scope, Function) and name.id in parameters(scope):
        given = list(_given(scope, name.id, scripts))
        return not binders(scope, name.id) and bool(given) and all(given)
    stores = binders(scope, name.id)
    statement = script.parent(stores[0]) if len(stores) == 1 else None
    place = None
    if isinstance(statement, ast.Tuple):
        place = statement.elts.index(stores[0])  # type: ignore[arg-type]
        statement = script.parent(statement)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return False
    return is_tensor_of(script, statement.value, place, scripts)


def _given(function: Function, name: str, scripts: Sequence[Script]) -> Iterator[bool]:
    """Yield for each call whether it gives a tensor of a step for a parameter."""
    if len([f for s in scripts for f in s.all(ast.FunctionDef) if f.name == function.name]) != 1:
        yield False
    names = [n for n in parameters(function) if n not in ("self", "cls")]
    for script in scripts:
        for call in calls_of(script, function.name):
            value = argument(call, function, name)
            starred = call.args[0] if len(call.args) == 1 and not call.keywords else None
            if isinstance(starred, ast.Starred) and isinstance(starred.value, ast.Call):
                yield is_tensor_of(script, starred.value, names.index(name), scripts)
            else:
                yield isinstance(value, ast.Name) and is_tensor(script, value, scripts)


def is_tensor_of(
    script: Script, call: ast.Call, place: int | None, scripts: Sequence[Script]
) -> bool:
    """Tell whether what a compiled function returns, all or at a place, is one tensor."""
    if not is_compiled(script, call, scripts):
        return False
    name = dotted(call.func).rpartition(".")[2]
    made = [(s, f) for s in scripts for f in s.all(ast.FunctionDef) if f.name == name]
    if len(made) != 1:
        return False
    where, function = made[0]
    values = [n.value for n in own_nodes(*function.body) if isinstance(n, ast.Return)]
    for value in values:
        if place is not None:
            is_long = isinstance(value, ast.Tuple) and place < len(value.elts)
            value = value.elts[place] if is_long else None  # type: ignore[union-attr]
        if not _is_computed(where, function, value):
            return False
    return bool(values)


def _is_computed(script: Script, function: ast.FunctionDef, value: ast.expr | None) -> bool:
    """Tell whether an expression is one tensor: no list of them, nor a dict."""
    if isinstance(value, ast.Name):
        found = binders(function, value.id)
        made = [value_of(script, node) for node in found]
        is_own = bool(made) and value.id not in parameters(function)
        return (
            is_own
            and all(not isinstance(v, ast.Name) for v in made)
            and all(_is_computed(script, function, v) for v in made)
        )
    if isinstance(value, ast.BinOp):
        sides = (value.left, value.right)
        return any(_is_computed(script, function, side) for side in sides)
    if isinstance(value, ast.Subscript):
        return isinstance(value.slice, ast.Tuple)
    path = imported(script, dotted(value.func)) if isinstance(value, ast.Call) else ""
    return path.startswith("tensorflow.") and bool(_ONE_TENSOR.search(path))
