"""Edits of `predict` in a loop: one call for all rows, or a call of the model itself."""

from __future__ import annotations

import ast

from quickfit.findings import FixClass
from quickfit.fixes.batch_sizes import has_fixed_size
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.known_arrays import is_array
from quickfit.fixes.lookup import call_at, called, may_have_more
from quickfit.fixes.one_output import has_one_output
from quickfit.fixes.predict_rows import Rows, rows_of
from quickfit.fixes.script import Function, Project, Script

Loop = ast.For | ast.While
# What a call of `predict` may say and a direct call need not.
_DROPPED = ("verbose", "batch_size")


def predictions(script: Script, line: int, project: Project) -> list[Change]:
    """Return the ways to predict without a call of `predict` for each few rows, the best first."""
    call = call_at(script, line, "predict")
    if call is None or not _is_plain(call) or not has_one_output(project):
        return []
    found = (
        _at_once(script, call, project),
        _compiled(script, call, project),
        _direct(script, call, project),
    )
    return [change for change in found if change is not None]


def _is_plain(call: ast.Call) -> bool:
    """Tell whether a call gives one input, and nothing that a direct call could not."""
    if not isinstance(call.func, ast.Attribute) or may_have_more(call):
        return False
    is_known = all(keyword.arg in (*_DROPPED, "x") for keyword in call.keywords)
    is_model = isinstance(call.func.value, ast.Name | ast.Attribute)
    return is_known and is_model and len(call.args) <= 3 and _input(call) is not None


def _input(call: ast.Call) -> ast.expr | None:
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "x")]
    return given[0] if len(given) == 1 else None


# -- the model itself -----------------------------------------------------------------------


def _direct(script: Script, call: ast.Call, project: Project) -> Change | None:
    """Call the model as a function, which builds no dataset."""
    if not is_array(script, _input(call), project):
        return None
    assert isinstance(call.func, ast.Attribute)
    code = _called_directly(script, call, script.code(call.func.value))
    return Change(
        title="Call the model itself",
        kind=FixClass.EQUIVALENT,
        edits=(script.replace(call, code),),
        note="The same numbers to rounding; all rows of a call are taken at once.",
    )


def _called_directly(script: Script, call: ast.Call, model: str) -> str:
    given = _input(call)
    assert given is not None
    return f"{model}({script.code(given)}, training=False).numpy()"


def _compiled(script: Script, call: ast.Call, project: Project) -> Change | None:
    """Compile the model once, in front of the outermost loop, and call that."""
    loop = _outermost(script, call)
    model = call.func.value if isinstance(call.func, ast.Attribute) else None
    if loop is None or not isinstance(model, ast.Name) or not _runs_once(script, loop):
        return None
    if not is_array(script, _input(call), project) or _is_set_in(loop, model.id):
        return None
    name = _free(script, "forward", "forward_pass")
    tf, imports = script.import_of("tensorflow", "tf")
    made = script.insert_before(loop, f"{name} = {tf}.function({model.id})") if name else None
    if made is None:
        return None
    code = _called_directly(script, call, name)
    return Change(
        title="Call the model itself, compiled once",
        kind=FixClass.EQUIVALENT,
        edits=(*imports, made, script.replace(call, code)),
        note="The same numbers to rounding; rows of another shape are compiled for again.",
    )


def _outermost(script: Script, node: ast.AST) -> Loop | None:
    """Return the outermost loop around a node within its function."""
    found, around = None, script.parent(node)
    while around is not None and not isinstance(around, Function | ast.Lambda | ast.ClassDef):
        found = around if isinstance(around, Loop) else found
        around = script.parent(around)
    return found


def _runs_once(script: Script, loop: Loop) -> bool:
    """Tell whether a loop is at the top of a file, or in a function that is called once there."""
    function = script.around(loop, ast.FunctionDef)
    if function is None:
        return True
    if isinstance(script.parent(function), ast.ClassDef):
        return False
    calls = [c for c in script.all(ast.Call) if called(c) == function.name]
    if len(calls) != 1 or _outermost(script, calls[0]) is not None:
        return False
    return script.around(calls[0], ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda) is None


def _is_set_in(node: ast.AST, name: str) -> bool:
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name)
    return any(not isinstance(n.ctx, ast.Load) for n in names)


def _free(script: Script, *names: str) -> str:
    """Return the first of some names that the file does not use."""
    used = {node.id for node in script.all(ast.Name)} | {node.arg for node in script.all(ast.arg)}
    used |= {node.name for node in script.all(ast.FunctionDef)}
    used |= {node.asname or node.name for node in script.all(ast.alias)}
    return next((name for name in names if name not in used), "")


# -- all rows at once -----------------------------------------------------------------------


def _at_once(script: Script, call: ast.Call, project: Project) -> Change | None:
    """Predict all rows in front of the loop, and take them one by one inside it."""
    rows = rows_of(script, call, _input(call), project)
    if rows is None or _may_draw(project) or has_fixed_size(project):
        return None
    name = _free(script, "predictions", "predicted", "all_predictions")
    if not name:
        return None
    statement = script.statement(rows.loop)
    before = f"{name} = {_for_all(script, call, rows)}"
    made = script.insert_before(statement, before)
    if made is None:
        return None
    return Change(
        title="Predict all rows in one call",
        kind=FixClass.EQUIVALENT,
        edits=(*rows.edits, made, _taken(script, call, rows, name)),
        note="The same numbers to rounding.",
    )


def _for_all(script: Script, call: ast.Call, rows: Rows) -> str:
    """Return the call of `predict` with all rows; a batch size for a few rows goes."""
    assert isinstance(call.func, ast.Attribute)
    verbose = [k for k in call.keywords if k.arg == "verbose"]
    more = "".join(f", {script.code(k)}" for k in verbose)
    return f"{script.code(call.func)}({rows.all_rows}{more})"


def _taken(script: Script, call: ast.Call, rows: Rows, name: str) -> Edit:
    """Return the edit that takes the rows of one turn from those of all."""
    parent = script.parent(call)
    is_first = isinstance(parent, ast.Subscript) and parent.value is call and rows.row
    if is_first and isinstance(parent, ast.Subscript) and ast.unparse(parent.slice) == "0":
        return script.replace(parent, f"{name}[{rows.row}]")
    return script.replace(call, f"{name}[{rows.slice}]")


def _may_draw(project: Project) -> bool:
    """Tell whether a model may give other numbers for the same row: state, or random layers."""
    scripts = [s for file in project.files if (s := project.script(file)) is not None]
    keywords = [k for s in scripts for k in s.all(ast.keyword) if k.arg in ("training", "stateful")]
    return any(isinstance(k.value, ast.Constant) and k.value.value is True for k in keywords)
