"""Edits of a model that predicts a map where its labels are one number per example."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.fixes.change import Edit
from quickfit.fixes.known_arrays import bindings_near
from quickfit.fixes.lookup import argument, called, last_name
from quickfit.fixes.script import Project, Script

Shape = Sequence[int | None]
_RECURRENT = ("LSTM", "GRU", "SimpleRNN")


def is_map_for_a_number(labels: Shape, outputs: Shape) -> bool:
    """Tell whether a model gives a row, a map or a volume of numbers where one is wanted."""
    is_number = len(labels) == 1 or (len(labels) == 2 and labels[1] == 1)
    return is_number and 3 <= len(outputs) <= 5 and outputs[-1] == 1


def pooled_head(project: Project, outputs: Shape) -> tuple[Edit, ...]:
    """Return the edits that pool the map in front of the last `Dense` of the only model."""
    made = [
        (script, call)
        for file in project.files
        if (script := project.script(file)) is not None
        for call in script.all(ast.Call)
        if called(call) in ("Sequential", "Model")
    ]
    if len(made) != 1 or _has_own_model(project):
        return ()
    script, call = made[0]
    pooling = f"GlobalAveragePooling{len(outputs) - 2}D"
    if called(call) == "Model":
        return _functional(script, call, pooling)
    layers = call.args[0] if call.args else argument(call, "layers")
    if isinstance(layers, ast.List) and layers.elts and not _added(script, call):
        return _in_list(script, layers.elts, pooling)
    return _in_adds(script, _added(script, call), pooling)


def _has_own_model(project: Project) -> bool:
    scripts = [s for file in project.files if (s := project.script(file)) is not None]
    classes = [owner for s in scripts for owner in s.all(ast.ClassDef)]
    return any(last_name(base) in ("Model", "Sequential") for o in classes for base in o.bases)


def _layer(script: Script, dense: ast.Call, name: str) -> tuple[str, tuple[Edit, ...]]:
    """Return the code of a layer, named as the script names its `Dense`, and what it imports."""
    if isinstance(dense.func, ast.Attribute):
        return f"{script.code(dense.func.value)}.{name}()", ()
    found = [
        node.module or ""
        for node in script.all(ast.ImportFrom)
        if any(alias.name == "Dense" and alias.asname is None for alias in node.names)
    ]
    if len(found) != 1:
        return "", ()
    known, edits = script.from_import(found[0], name)
    return f"{known}()", edits


def _in_list(script: Script, layers: list[ast.expr], pooling: str) -> tuple[Edit, ...]:
    """Return the edits of `Sequential([..., Dense(1)])`."""
    last = layers[-1]
    if not isinstance(last, ast.Call) or called(last) != "Dense" or len(layers) < 2:
        return ()
    before = layers[-2]
    if isinstance(before, ast.Call) and _gives_rows(before):
        edit = script.without_keyword(before, "return_sequences")
        return (edit,) if edit is not None else ()
    code, imports = _layer(script, last, pooling)
    line, column = script.begin(last)
    indent = script.lines[line - 1][:column]
    text = f"{code},\n{indent}" if not indent.strip() else f"{code}, "
    return (*imports, Edit(script.file, (line, column), (line, column), text)) if code else ()


def _gives_rows(layer: ast.Call) -> bool:
    given = argument(layer, "return_sequences")
    return called(layer) in _RECURRENT and isinstance(given, ast.Constant) and given.value is True


def _added(script: Script, call: ast.Call) -> list[ast.Call]:
    """Return the calls of `add` on the model, in the order of the text."""
    parent = script.parent(call)
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    names = {ast.unparse(target) for target in targets}
    adds = [c for c in script.all(ast.Call) if called(c) == "add" and len(c.args) == 1]
    return [c for c in adds if ast.unparse(c.func).removesuffix(".add") in names]


def _in_adds(script: Script, adds: list[ast.Call], pooling: str) -> tuple[Edit, ...]:
    """Return the edits of `model.add(Dense(1))`, the last one."""
    last = adds[-1].args[0] if len(adds) > 1 else None
    if not isinstance(last, ast.Call) or called(last) != "Dense":
        return ()
    before, statement = adds[-2].args[0], script.statement(adds[-1])
    if isinstance(before, ast.Call) and _gives_rows(before):
        edit = script.without_keyword(before, "return_sequences")
        return (edit,) if edit is not None else ()
    if not isinstance(statement, ast.Expr) or script.around(statement, ast.For, ast.If):
        return ()
    code, imports = _layer(script, last, pooling)
    added = script.insert_before(statement, f"{script.code(adds[-1].func)}({code})")
    return (*imports, added) if code and added is not None else ()


def _last_value(script: Script, name: ast.Name, call: ast.Call) -> ast.expr | None:
    """Return what the last assignment before a call, in the same block, gives to a name."""
    block = script.block(script.statement(call))
    bound = [script.parent(node) for node in bindings_near(script, name)]
    before = [p for p in bound if isinstance(p, ast.Assign) and p.lineno < call.lineno]
    last = max(before, key=lambda p: p.lineno, default=None)
    return last.value if last is not None and last in block else None


def _functional(script: Script, call: ast.Call, pooling: str) -> tuple[Edit, ...]:
    """Return the edits of `Model(inputs, Dense(1)(h))`, also where the output has a name."""
    outputs = argument(call, "outputs") or (call.args[1] if len(call.args) > 1 else None)
    if isinstance(outputs, ast.Name):
        outputs = _last_value(script, outputs, call)
    if not isinstance(outputs, ast.Call) or not isinstance(outputs.func, ast.Call):
        return ()
    if called(outputs.func) != "Dense" or len(outputs.args) != 1:
        return ()
    code, imports = _layer(script, outputs.func, pooling)
    given = outputs.args[0]
    edit = script.replace(given, f"{code}({script.code(given)})")
    return (*imports, edit) if code else ()
