"""Turns a Python function inside `Dataset.map` into operations of TensorFlow."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from quickfit.causes._shared.image_pipeline.calls import Reading
from quickfit.causes._shared.image_pipeline.expressions import Env
from quickfit.causes._shared.image_pipeline.generators import (
    block,
    head_line,
    names_of,
    without_docstring,
)
from quickfit.causes._shared.image_pipeline.layout import fitted, laid_out, quoted, with_comments
from quickfit.causes._shared.image_pipeline.pictures import Pictures
from quickfit.causes._shared.image_pipeline.uses import dtype_name
from quickfit.causes._shared.image_pipeline.values import (
    Facts,
    Group,
    Item,
    Line,
    Names,
    NotRecognisedError,
    Picture,
    Value,
    assignment,
    code,
)
from quickfit.causes._shared.map_threads import parallel_map
from quickfit.causes.input.python_in_map.numpy_operations import Operations
from quickfit.code.edits import is_in_conflict
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import Def, parameter_names
from quickfit.findings import Change, Edit, FixClass

_CALLS = ("py_function", "numpy_function", "py_func", "eager_py_func")


def python_map(program: Program, file: str, line: int, *, pillow: int) -> Change | None:
    """Return the change of the function that `tf.py_function` at a line calls.

    Args:
        project: the user's files.
        file: the file of the finding.
        line: the line of `tf.py_function`, of a map, or of the function that is called.
        pillow: the major version of Pillow that the script runs with.
    """
    module = program.find_module(file)
    if module is None:
        return None
    for name in candidates(module, line):
        try:
            return _changed(program, module, name, pillow)
        except NotRecognisedError:
            continue
    return None


def candidates(module: Module, line: int) -> list[str]:
    """Return the functions that Python is called with, those at the line first."""
    calls = [c for c in module.all(ast.Call) if _is_python_call(c)]
    named = {_function(c): c for c in calls if _function(c)}
    at = [n for n, c in named.items() if module.statement(c).lineno <= line <= (c.end_lineno or 0)]
    inside = [f.name for f in module.all(ast.FunctionDef) if f.lineno <= line <= module.end(f)[0]]
    only = list(named) if len(named) == 1 else []
    return list(dict.fromkeys([*at, *(n for n in inside if n in named), *only]))


def _is_python_call(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _CALLS


def _function(call: ast.Call) -> str:
    named = {k.arg: k.value for k in call.keywords}
    given = named.get("func", call.args[0] if call.args else None)
    return given.id if isinstance(given, ast.Name) else ""


def _changed(program: Program, module: Module, name: str, pillow: int) -> Change:
    names = Names(module)
    function = names.function(name)
    if function is None or function.decorator_list:
        raise NotRecognisedError
    calls = uses(program, module, name)
    dtypes = {dtypes_of(call) for call in calls}
    if len(dtypes) != 1:
        raise NotRecognisedError
    tf, imports = module.import_of("tensorflow", "tf")
    lines, picture, is_random = _translated(names, function, dtypes.pop(), tf=tf, pillow=pillow)
    body = without_docstring(function)
    head = head_line(module, function)
    text = with_comments(laid_out(tuple(lines), module), module, head, module.end(body[-1])[0])
    edits = [block(module, body, head, text), *imports]
    edits += [call_edit(module, call, name) for call in calls]
    edits += threads(module, calls, edits)
    if function.returns is not None:
        edits.append(module.replace(function.returns, f"{tf}.Tensor"))
    note = f"Pixels differ by at most {picture.difference} of 255, as measured on photos."
    title = f"Load the pictures of `{name}` with TensorFlow, without Python"
    note = note if picture.difference else "The pixels are the same."
    kind = FixClass.MAY_CHANGE_RESULTS if is_random else FixClass.EQUIVALENT
    return Change(title, kind, tuple(edits), note)


def threads(module: Module, calls: list[ast.Call], edits: Iterable[Edit]) -> list[Edit]:
    """Return the edits that give the maps around calls several threads, which now help."""
    inside = [module.around(call, ast.FunctionDef, ast.Lambda) for call in calls]
    named = {f.name for f in inside if isinstance(f, ast.FunctionDef)}
    found: list[Edit] = []
    for call in module.all(ast.Call):
        given = call.args[0] if call.args else None
        is_it = given in inside or (isinstance(given, ast.Name) and given.id in named)
        if not is_it or not isinstance(call.func, ast.Attribute) or call.func.attr != "map":
            continue
        if any("random" in module.code(f) for f in inside if f is not None):
            continue  # other random numbers
        line = call.func.end_lineno or call.lineno
        change = parallel_map(module, line, is_random=False)
        if change is not None and not is_in_conflict(change.edits, edits):
            found += [edit for edit in change.edits if edit not in found]
    return found


def uses(program: Program, module: Module, name: str) -> list[ast.Call]:
    """Return the calls that a function is given to; it must have no other use."""
    calls = []
    for file in program.paths:
        other = program.find_module(file)
        for node in other.all(ast.Name) if other else ():
            if node.id != name or other is None:
                continue
            parent = other.parent(node)
            holder = other.parent(parent) if isinstance(parent, ast.keyword) else parent
            is_given = isinstance(holder, ast.Call) and _is_python_call(holder)
            if other is not module or not is_given or not isinstance(holder, ast.Call):
                raise NotRecognisedError
            calls.append(holder)
        if other is not None and any(a.attr == name for a in other.all(ast.Attribute)):
            raise NotRecognisedError
    return calls


def _arguments(call: ast.Call) -> tuple[ast.expr, ast.expr]:
    """Return the inputs and the types of a call."""
    given: dict[str, ast.expr] = dict(zip(("func", "inp", "Tout"), call.args, strict=False))
    given |= {k.arg: k.value for k in call.keywords if k.arg}
    if set(given) - {"func", "inp", "Tout", "name", "stateful"} or len(call.args) > 3:
        raise NotRecognisedError
    if "inp" not in given or "Tout" not in given:
        raise NotRecognisedError
    return given["inp"], given["Tout"]


def dtypes_of(call: ast.Call) -> tuple[str, ...]:
    """Return the types that a call says the function gives."""
    types = _arguments(call)[1]
    if isinstance(types, ast.Tuple | ast.List):
        return tuple(dtype_name(t) for t in types.elts)
    return (dtype_name(types),)


def call_edit(module: Module, call: ast.Call, name: str) -> Edit:
    """Return the edit that calls a function itself."""
    inputs = _arguments(call)[0]
    if not isinstance(inputs, ast.List | ast.Tuple):
        raise NotRecognisedError
    statement = module.statement(call)
    spans_lines = call.lineno != call.end_lineno
    if spans_lines and module.has_comment(statement, statement):
        raise NotRecognisedError
    arguments = ", ".join(module.code(element) for element in inputs.elts)
    return module.replace(call, f"{name}({arguments})")


def _translated(
    names: Names, function: Def, dtypes: tuple[str, ...], *, tf: str, pillow: int
) -> tuple[list[Line], Picture, bool]:
    """Return the body of a function in TensorFlow, its picture, and whether chance changes it."""
    reading = Reading(names, Pictures(names, tf=tf, pillow=pillow), Facts(), {})
    env: Env = {p: Item(ast.Name(p, ast.Load())) for p in parameter_names(function)}
    value = reading.returned(without_docstring(function), env)
    values = value.values if isinstance(value, Group) else (value,)
    pictures = [v for v in values if isinstance(v, Picture)]
    if len(pictures) != 1 or len(values) != len(dtypes):
        raise NotRecognisedError
    last = function.body[-1].lineno
    at = values.index(pictures[0])
    picture = reading.pictures.finished(pictures[0], last, dtype=dtypes[at], needs_size=False)
    if not isinstance(picture.path.node, ast.Name):
        raise NotRecognisedError
    lines = list(picture.lines)
    path = picture.path.node.id
    lines[0] = Line(lines[0].text.replace("(path)", f"({path})"), lines[0].origin)
    if "nearest" in picture.helpers or {"image", "data", "first"} & set(parameter_names(function)):
        raise NotRecognisedError
    results = [_result(v, d, tf) for v, d in zip(values, dtypes, strict=True)]
    lines.append(Line(f"return {', '.join(results)}", last))
    return lines, picture, reading.facts.is_random


def _result(value: Value, dtype: str, tf: str) -> str:
    if isinstance(value, Picture):
        return "image"
    if not isinstance(value, Item) or not isinstance(value.node, ast.Name):
        raise NotRecognisedError
    return f"{tf}.cast({code(value.node)}, {tf}.{dtype})"


_NOTE = "Computed in 32 bits throughout; NumPy computes parts of it in 64 bits."


def numpy_map(program: Program, file: str, line: int) -> Change | None:
    """Return the change of the function of arithmetic that Python is called with at a line."""
    module = program.find_module(file)
    if module is None:
        return None
    for name in candidates(module, line):
        try:
            return _changed_numpy(program, module, name)
        except NotRecognisedError:
            continue
    return None


def _changed_numpy(program: Program, module: Module, name: str) -> Change:
    names = names_of(program, module)
    function = names.function(name)
    if function is None or function.decorator_list or function.args.defaults:
        raise NotRecognisedError
    calls = uses(program, module, name)
    if {dtypes_of(call) for call in calls} != {("float32",)}:
        raise NotRecognisedError
    tf, imports = module.import_of("tensorflow", "tf")
    kinds = dict.fromkeys(parameter_names(function), "whole")
    lines = _lines(function, Operations(names, tf, kinds), module)
    body, head = without_docstring(function), head_line(module, function)
    text = with_comments(tuple(lines), module, head, module.end(body[-1])[0])
    edits = [block(module, body, head, fitted(text)), *imports]
    edits += [call_edit(module, call, name) for call in calls]
    edits += threads(module, calls, edits)
    if function.returns is not None:
        edits.append(module.replace(function.returns, f"{tf}.Tensor"))
    title = f"Compute `{name}` with TensorFlow, without Python"
    return Change(title, FixClass.EQUIVALENT, tuple(edits), _NOTE)


def _lines(function: Def, operations: Operations, module: Module) -> list[Line]:
    """Return the body of a function in TensorFlow, statement by statement."""
    *before, last = without_docstring(function)
    tf, first = operations.tf, function.body[0].lineno
    given = parameter_names(function)
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
            rows.append(Line(quoted(f"{target} = {part.text}", module), statement.lineno))
    if not isinstance(last, ast.Return) or last.value is None:
        raise NotRecognisedError
    result = operations.part(last.value)
    if result.kind != "tensor":
        raise NotRecognisedError
    return [*rows, Line(quoted(f"return {result.text}", module), last.lineno)]


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr]:
    found = assignment(statement)
    if found is not None and isinstance(found[0], ast.Name):
        return found[0].id, found[1]
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        left = ast.Name(statement.target.id, ast.Load())
        made = ast.BinOp(left, statement.op, statement.value)
        return statement.target.id, ast.copy_location(made, statement)
    raise NotRecognisedError
