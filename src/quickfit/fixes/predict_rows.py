"""Recognises a loop over the rows of an array in which `predict` gets one row, or a few, a turn."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from quickfit.fixes.change import Edit
from quickfit.fixes.known_arrays import is_array, is_new_axis
from quickfit.fixes.lookup import called, last_name
from quickfit.fixes.row_views import changes_in_place
from quickfit.fixes.script import Project, Script

# Functions that change neither a model nor an array they are given.
_HARMLESS = {"print", "len", "int", "float", "str", "range", "round", "enumerate", "zip", "list"}
_HARMLESS |= {"max", "min", "sum", "abs", "bool", "tuple", "sorted", "format", "argmax", "argmin"}
_HARMLESS |= {"append", "mean", "item", "tolist", "astype", "sqrt", "square", "extend", "predict"}
_HARMLESS |= {"expand_dims", "reshape", "flatten", "ravel", "squeeze", "array", "asarray", "join"}
_HARMLESS |= {"time", "perf_counter", "write", "strip", "isclose", "exp", "log", "equal", "items"}


@dataclass(frozen=True)
class Rows:
    """The rows that a loop predicts.

    Args:
        loop: the loop, or the comprehension.
        all_rows: the code of all rows.
        slice: the code of the slice that one turn takes.
        row: the code of the index, where a turn takes a single row; else empty.
        edits: what the head of the loop needs so that there is an index.
    """

    loop: ast.AST
    all_rows: str
    slice: str
    row: str
    edits: tuple[Edit, ...] = ()


def rows_of(
    script: Script, call: ast.Call, given: ast.expr | None, project: Project
) -> Rows | None:
    """Return the rows that the loop around a call predicts; None where it may not be moved."""
    loop = script.around(call, ast.For, ast.While, ast.comprehension, ast.FunctionDef)
    holder = script.around(call, ast.ListComp)
    if isinstance(holder, ast.ListComp):
        return _in_comprehension(script, holder, call, given, project)
    if not isinstance(loop, ast.For) or loop.orelse or script.statement(call) not in loop.body:
        return None
    if given is None:
        return None
    found = _counted(script, loop, given, project) or _over_rows(script, loop, given, project)
    model = call.func.value if isinstance(call.func, ast.Attribute) else None
    if found is None or model is None or not _is_untouched(script, loop, call, model):
        return None
    is_counted = isinstance(loop.iter, ast.Call) and called(loop.iter) == "range"
    rows = {found.all_rows.partition("[")[0], *(() if is_counted else _names(loop.target))}
    return None if changes_in_place(script, loop, rows) else found


def _counted(script: Script, loop: ast.For, given: ast.expr, project: Project) -> Rows | None:
    if not isinstance(loop.target, ast.Name):
        return None
    found = _indexed(loop, loop.target.id, loop.iter, given)
    return found if found and is_array(script, _root_name(given), project) else None


def _over_rows(script: Script, loop: ast.For, given: ast.expr, project: Project) -> Rows | None:
    """Return the rows of `for row in x`, or with `enumerate`, where a turn predicts its row."""
    row, rows, index = loop.target, loop.iter, ""
    edits: tuple[Edit, ...] = ()
    if isinstance(rows, ast.Call) and called(rows) == "enumerate" and isinstance(row, ast.Tuple):
        if len(rows.args) != 1 or rows.keywords or len(row.elts) != 2:
            return None
        index, row, rows = last_name(row.elts[0]), row.elts[1], rows.args[0]
    elif isinstance(row, ast.Name):
        index = next((n for n in ("index", "row_index") if n not in _names(script.tree)), "")
        code = f"{index}, {row.id} in enumerate({script.code(rows)})"
        edits = (Edit(script.file, script.begin(row), script.end(rows), code),)
    taken = _as_batch(given)
    is_row = isinstance(taken, ast.Name) and isinstance(row, ast.Name) and taken.id == row.id
    if not index.strip("_") or not is_row or not isinstance(rows, ast.Name):
        return None
    if not is_array(script, rows, project):
        return None
    return Rows(loop, rows.id, f"{index} : {index} + 1", index, edits)


def _in_comprehension(
    script: Script, holder: ast.ListComp, call: ast.Call, given: ast.expr | None, project: Project
) -> Rows | None:
    """Return the rows of `[model.predict(x[i:i + 1])[0] for i in range(len(x))]`."""
    part = holder.generators[0]
    statement = script.statement(holder)
    is_plain = len(holder.generators) == 1 and not part.ifs and not part.is_async
    if not is_plain or not isinstance(part.target, ast.Name) or given is None:
        return None
    if not isinstance(statement, ast.Assign | ast.Expr) or script.around(holder, ast.Lambda):
        return None
    calls = [c for c in ast.walk(statement) if isinstance(c, ast.Call) and c is not call]
    if any(called(c) not in _HARMLESS for c in calls):
        return None
    found = _indexed(statement, part.target.id, part.iter, given)
    return found if found and is_array(script, _root_name(given), project) else None


def _root_name(given: ast.expr) -> ast.Name | None:
    """Return the name of the array that a turn takes its rows from."""
    node = (
        given if isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Slice) else None
    )
    inner = node if node is not None else _as_batch(given)
    value = inner.value if isinstance(inner, ast.Subscript) else None
    return value if isinstance(value, ast.Name) else None


def _indexed(loop: ast.AST, index: str, iterated: ast.expr, given: ast.expr) -> Rows | None:
    """Return the rows where a loop counts and `predict` gets `x[i:i + 1]`, or the like."""
    if not isinstance(iterated, ast.Call) or called(iterated) != "range" or iterated.keywords:
        return None
    taken = _taken(given, index)
    if taken is None:
        return None
    rows, sliced = taken
    step = _step(iterated)
    stop = iterated.args[1] if len(iterated.args) == 3 else iterated.args[0]
    is_whole = isinstance(stop, ast.Call) and called(stop) == "len" and bool(stop.args)
    is_whole = is_whole and ast.unparse(stop.args[0]) == ast.unparse(rows)  # type: ignore[attr-defined]
    is_whole = is_whole or ast.unparse(stop) == f"{ast.unparse(rows)}.shape[0]"
    if step is None or (not is_whole and (len(iterated.args) == 3 or not _is_plain(stop))):
        return None
    if sliced is None and step != "1":
        return None
    if sliced is not None and sliced.replace(" ", "") != f"{index}:{index}+{step}":
        return None
    code = ast.unparse(rows)
    all_rows = code if is_whole else f"{code}[:{ast.unparse(stop)}]"
    row = index if step == "1" else ""
    return Rows(loop, all_rows, f"{index} : {index} + {step}", row)


def _step(call: ast.Call) -> str | None:
    """Return the step of `range(n)` or `range(0, n, step)`."""
    if len(call.args) == 1:
        return "1"
    is_from_zero = isinstance(call.args[0], ast.Constant) and call.args[0].value == 0
    if len(call.args) != 3 or not is_from_zero or not _is_plain(call.args[2]):
        return None
    return ast.unparse(call.args[2])


def _is_plain(node: ast.expr) -> bool:
    is_number = isinstance(node, ast.Constant) and type(node.value) is int
    return is_number or isinstance(node, ast.Name)


def _taken(given: ast.expr, index: str) -> tuple[ast.expr, str | None] | None:
    """Return the array that a turn takes from, and its slice; None for one row as a batch."""
    if isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Slice):
        return (
            (given.value, ast.unparse(given.slice)) if isinstance(given.value, ast.Name) else None
        )
    inner = _as_batch(given)
    is_row = isinstance(inner, ast.Subscript) and isinstance(inner.value, ast.Name)
    if is_row and isinstance(inner, ast.Subscript) and ast.unparse(inner.slice) == index:
        return inner.value, None
    return None


def _as_batch(given: ast.expr) -> ast.expr | None:
    """Return the row of `row[None]`, `np.expand_dims(row, 0)` or `np.array([row])`."""
    if isinstance(given, ast.Subscript):
        parts = given.slice.elts if isinstance(given.slice, ast.Tuple) else [given.slice]
        rest = all(ast.unparse(part) in ("...", ":") for part in parts[1:])
        return given.value if is_new_axis(parts[0]) and rest else None
    if not isinstance(given, ast.Call) or not given.args:
        return None
    axis = [*given.args[1:], *(k.value for k in given.keywords if k.arg == "axis")]
    if called(given) == "expand_dims":
        return given.args[0] if len(axis) == 1 and ast.unparse(axis[0]) == "0" else None
    first = given.args[0]
    is_list = isinstance(first, ast.List) and len(first.elts) == 1 and not given.keywords
    if called(given) in ("array", "asarray", "stack") and is_list and len(given.args) == 1:
        return first.elts[0] if isinstance(first, ast.List) else None
    return None


def _is_untouched(script: Script, loop: ast.For, call: ast.Call, model: ast.expr) -> bool:
    """Tell whether nothing in a loop may change its model or its rows."""
    code = ast.unparse(model)
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and node is not call and called(node) not in _HARMLESS:
            return False
        if isinstance(node, ast.Call) and any(ast.unparse(a) == code for a in node.args):
            return False
        if isinstance(node, ast.Try | ast.With | ast.FunctionDef | ast.Delete | ast.Await):
            return False
    kept = {_root(model), *_names(call), *_names(loop.target)}
    return not any(_root(node) in kept for node in _stores(loop))


def _stores(loop: ast.For) -> list[ast.expr]:
    """Return what the body of a loop sets."""
    nodes = [n for statement in loop.body for n in ast.walk(statement)]
    parts = [n for n in nodes if isinstance(n, ast.Name | ast.Attribute | ast.Subscript)]
    return [n for n in parts if not isinstance(n.ctx, ast.Load)]


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return last_name(node)
