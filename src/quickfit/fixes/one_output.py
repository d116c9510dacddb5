"""Tells whether every model of a project gives a single tensor, by how it is made."""

from __future__ import annotations

import ast

from quickfit.fixes.known_arrays import bindings_near
from quickfit.fixes.lookup import called, last_name
from quickfit.fixes.script import Project, Script

# Models whose outputs the text does not show.
_UNSEEN = ("load_model", "model_from_json", "from_config", "TFSMLayer")


def has_one_output(project: Project) -> bool:
    """Tell whether all models that the files make or define have one output each."""
    scripts = [s for file in project.files if (s := project.script(file)) is not None]
    calls = [(s, call) for s in scripts for call in s.all(ast.Call)]
    made = [(s, call) for s, call in calls if called(call) in ("Sequential", "Model")]
    classes = [(s, o) for s in scripts for o in s.all(ast.ClassDef) if _is_model(o)]
    if any(called(call) in _UNSEEN for _, call in calls) or not (made or classes):
        return False
    if any(keyword.arg == "return_state" for s in scripts for keyword in s.all(ast.keyword)):
        return False
    is_made_plain = all(called(c) == "Sequential" or _is_one(s, _outputs(c)) for s, c in made)
    return is_made_plain and all(_returns_one(script, owner) for script, owner in classes)


def _is_model(owner: ast.ClassDef) -> bool:
    return any(last_name(base) in ("Model", "Sequential") for base in owner.bases)


def _outputs(call: ast.Call) -> ast.expr | None:
    named = [k.value for k in call.keywords if k.arg == "outputs"]
    if named:
        return named[0]
    return call.args[1] if len(call.args) > 1 else None


def _is_one(script: Script, outputs: ast.expr | None) -> bool:
    """Tell whether an expression is one tensor: what a layer gave, under whatever name."""
    if isinstance(outputs, ast.Name):
        parents = [script.parent(node) for node in bindings_near(script, outputs)]
        values = [p.value for p in parents if isinstance(p, ast.Assign) and len(p.targets) == 1]
        made = [v for v in values if not isinstance(v, ast.Name)]
        return bool(made) and len(values) == len(parents) and all(map(_is_layer_call, made))
    return outputs is not None and _is_layer_call(outputs)


def _is_layer_call(value: ast.expr) -> bool:
    """Tell whether a value is `Layer(...)(...)`, an input, or arithmetic with such."""
    if isinstance(value, ast.BinOp):
        return True
    if not isinstance(value, ast.Call):
        return False
    return isinstance(value.func, ast.Call) or called(value) == "Input"


def _returns_one(script: Script, owner: ast.ClassDef) -> bool:
    """Tell whether a model's `call` returns what one layer, or arithmetic, gives."""
    calls = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "call"]
    returns = [n.value for f in calls for n in ast.walk(f) if isinstance(n, ast.Return)]
    return bool(returns) and all(_is_returned_plain(script, value) for value in returns)


def _is_returned_plain(script: Script, value: ast.expr | None) -> bool:
    if isinstance(value, ast.Name):
        parents = [script.parent(node) for node in bindings_near(script, value)]
        values = [p.value for p in parents if isinstance(p, ast.Assign) and len(p.targets) == 1]
        rest = [p for p in parents if isinstance(p, ast.arguments)]
        is_known = len(values) + len(rest) == len(parents)
        return (
            bool(values) and is_known and all(isinstance(v, ast.Call | ast.BinOp) for v in values)
        )
    return isinstance(value, ast.Call | ast.BinOp)
