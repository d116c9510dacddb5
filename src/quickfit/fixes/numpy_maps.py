"""Turns a function of NumPy that a `Dataset.map` calls into operations of TensorFlow."""

from __future__ import annotations

import ast

from quickfit.findings import FixClass
from quickfit.fixes.change import Change
from quickfit.fixes.image_generators import block, head_line, names_of, without_docstring
from quickfit.fixes.image_layout import fitted, quoted, with_comments
from quickfit.fixes.image_maps import call_edit, candidates, dtypes_of, threads, uses
from quickfit.fixes.image_names import parameters
from quickfit.fixes.image_values import Line, NotRecognisedError, assignment
from quickfit.fixes.numpy_operations import Operations
from quickfit.fixes.script import Function, Project, Script

_NOTE = "Computed in 32 bits throughout; NumPy computes parts of it in 64 bits."


def numpy_map(project: Project, file: str, line: int) -> Change | None:
    """Return the change of the function of arithmetic that Python is called with at a line."""
    script = project.script(file)
    if script is None:
        return None
    for name in candidates(script, line):
        try:
            return _changed(project, script, name)
        except NotRecognisedError:
            continue
    return None


def _changed(project: Project, script: Script, name: str) -> Change:
    names = names_of(project, script)
    function = names.function(name)
    if function is None or function.decorator_list or function.args.defaults:
        raise NotRecognisedError
    calls = uses(project, script, name)
    if {dtypes_of(call) for call in calls} != {("float32",)}:
        raise NotRecognisedError
    tf, imports = script.import_of("tensorflow", "tf")
    kinds = dict.fromkeys(parameters(function), "whole")
    lines = _lines(function, Operations(names, tf, kinds), script)
    body, head = without_docstring(function), head_line(script, function)
    text = with_comments(tuple(lines), script, head, script.end(body[-1])[0])
    edits = [block(script, body, head, fitted(text)), *imports]
    edits += [call_edit(script, call, name) for call in calls]
    edits += threads(script, calls, edits)
    if function.returns is not None:
        edits.append(script.replace(function.returns, f"{tf}.Tensor"))
    title = f"Compute `{name}` with TensorFlow, without Python"
    return Change(title, FixClass.EQUIVALENT, tuple(edits), _NOTE)


def _lines(function: Function, operations: Operations, script: Script) -> list[Line]:
    """Return the body of a function in TensorFlow, statement by statement."""
    *before, last = without_docstring(function)
    tf, first = operations.tf, function.body[0].lineno
    given = parameters(function)
    if not given or {tf, "tf"} & set(given):
        raise NotRecognisedError
    rows = [Line(f"{name} = {tf}.cast({name}, {tf}.float32)", first) for name in given]
    for statement in before:
        target, value = _assigned(statement)
        part = operations.part(value)
        operations.kinds[target] = "tensor" if part.kind == "number" else part.kind
        if part.kind == "number":
            raise NotRecognisedError
        if part.text != target:  # else a cast that has been made
            rows.append(Line(quoted(f"{target} = {part.text}", script), statement.lineno))
    if not isinstance(last, ast.Return) or last.value is None:
        raise NotRecognisedError
    result = operations.part(last.value)
    if result.kind != "tensor":
        raise NotRecognisedError
    return [*rows, Line(quoted(f"return {result.text}", script), last.lineno)]


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr]:
    found = assignment(statement)
    if found is not None and isinstance(found[0], ast.Name):
        return found[0].id, found[1]
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        left = ast.Name(statement.target.id, ast.Load())
        made = ast.BinOp(left, statement.op, statement.value)
        return statement.target.id, ast.copy_location(made, statement)
    raise NotRecognisedError
