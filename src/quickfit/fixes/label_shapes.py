"""Edits of a loss written by hand that compares labels and predictions of unlike shapes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.findings import FixClass
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.known_arrays import bindings_near
from quickfit.fixes.lookup import argument, called, last_name, loads
from quickfit.fixes.script import Project, Script

Shape = Sequence[int | None]
NOTE = "Results so far were trained on the wrong numbers."
_COMPARING = ("subtract", "squared_difference", "sub")


def is_one_side_more(labels: Shape, outputs: Shape) -> bool:
    """Tell whether two shapes are alike but for a last side of one."""
    short, long = sorted((list(labels), list(outputs)), key=len)
    return long == [*short, 1]


def repaired(edits: tuple[Edit, ...]) -> Change:
    """Return the change that gives labels and predictions one shape."""
    return Change(
        title="Give predictions and labels the same shape",
        kind=FixClass.REPAIRS,
        edits=edits,
        note=NOTE,
    )


def fitting_loss(
    script: Script, line: int, labels: Shape, outputs: Shape, project: Project
) -> tuple[Edit, ...]:
    """Return the edits that give the labels the shape of the predictions in a user's own loss."""
    sides = _compared(script, line)
    if sides is None or not is_one_side_more(labels, outputs):
        return ()
    for first, prediction in (sides, sides[::-1]):
        label = _uncast(first)
        if isinstance(label, ast.Name) and _is_prediction(script, prediction, label, project):
            function = script.around(label, ast.FunctionDef)
            if function is not None and _are_arguments(function, label, prediction):
                return _reshaped(script, function, label.id, last_name(prediction))
            is_short = len(labels) == 1 and len(outputs) == 2
            code = f"{label.id}[:, None]" if is_short else ""
            return (script.replace(label, code),) if code else ()
    return ()


def _uncast(value: ast.expr) -> ast.expr:
    """Return what is cast to another type; the value itself where nothing is."""
    is_cast = isinstance(value, ast.Call) and called(value) == "cast" and bool(value.args)
    return value.args[0] if is_cast and isinstance(value, ast.Call) else value


def _compared(script: Script, line: int) -> tuple[ast.expr, ast.expr] | None:
    """Return the two sides of the only difference at a line."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for node in ast.walk(script.tree):
        if not isinstance(node, ast.expr) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            found.append((node.left, node.right))
        elif isinstance(node, ast.Call) and called(node) in _COMPARING and len(node.args) == 2:
            found.append((node.args[0], node.args[1]))
    named = [pair for pair in found if not any(isinstance(s, ast.Constant) for s in pair)]
    return named[0] if len(named) == 1 else None


def _is_prediction(script: Script, value: ast.expr, label: ast.Name, project: Project) -> bool:
    """Tell whether a side is what the model gave, and the other one is not."""
    if isinstance(value, ast.Call):
        return _is_model_call(value)
    if not isinstance(value, ast.Name):
        return False
    function = script.around(label, ast.FunctionDef)
    if function is not None and _are_arguments(function, label, value):
        names = [arg.arg for arg in function.args.args]
        places = (names.index(label.id), names.index(value.id))
        scripts = [s for file in project.files if (s := project.script(file)) is not None]
        if _is_of_loss_class(script, function):
            return places == (1, 2)
        return _is_loss(scripts, function.name, places) or _is_called_so(scripts, function, places)
    return _gives_output(script, value)


def _is_model_call(call: ast.Call) -> bool:
    return argument(call, "training") is not None


def _are_arguments(function: ast.FunctionDef, label: ast.Name, prediction: ast.expr) -> bool:
    names = [arg.arg for arg in function.args.args]
    return label.id in names and last_name(prediction) in names


def _is_of_loss_class(script: Script, function: ast.FunctionDef) -> bool:
    """Tell whether a function is the `call` of a loss of Keras's kind."""
    owner = script.parent(function)
    bases = owner.bases if isinstance(owner, ast.ClassDef) else []
    return function.name == "call" and [last_name(base) for base in bases] == ["Loss"]


def _is_loss(scripts: list[Script], name: str, places: tuple[int, int]) -> bool:
    """Tell whether a function is a loss of `compile`, which gets labels first."""
    if places != (0, 1):
        return False
    calls = [call for script in scripts for call in script.all(ast.Call)]
    given = [
        value
        for call in calls
        if called(call) == "compile"
        for value in (*call.args[1:2], argument(call, "loss"))
    ]
    return any(value is not None and last_name(value) == name for value in given)


def _is_called_so(
    scripts: list[Script], function: ast.FunctionDef, places: tuple[int, int]
) -> bool:
    """Tell whether every call gives the model's output for the predictions, and not for labels."""
    calls = [
        (script, call)
        for script in scripts
        for call in script.all(ast.Call)
        if called(call) == function.name and isinstance(call.func, ast.Name)
    ]
    label, prediction = places
    return bool(calls) and all(
        len(call.args) > max(places)
        and _gives_output(script, call.args[prediction])
        and not _gives_output(script, call.args[label])
        for script, call in calls
    )


def _gives_output(script: Script, value: ast.expr) -> bool:
    if isinstance(value, ast.Name):
        parents = [script.parent(node) for node in bindings_near(script, value)]
        made = [p.value for p in parents if isinstance(p, ast.Assign)]
        calls = [m for m in made if isinstance(m, ast.Call) and _is_model_call(m)]
        return bool(calls) and len(calls) == len(parents)
    return isinstance(value, ast.Call) and _is_model_call(value)


def _reshaped(
    script: Script, function: ast.FunctionDef, label: str, prediction: str
) -> tuple[Edit, ...]:
    """Return the edits that reshape the labels where a loss begins."""
    body = function.body
    is_told = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    first = body[1] if is_told and len(body) > 1 else body[0]
    if any(
        not isinstance(n.ctx, ast.Load) for n in script.all(ast.Name, function) if n.id == label
    ):
        return ()
    if any(isinstance(script.parent(n), ast.Subscript) for n in loads(script, label, function)):
        return ()  # an axis may have been added on purpose
    tf, imports = script.import_of("tensorflow", "tf")
    code = f"{label} = {tf}.reshape({label}, {tf}.shape({prediction}))"
    made = script.insert_before(first, code) if first.lineno != function.lineno else None
    return (*imports, made) if made is not None else ()
