"""Finds calls and names in a script, and what gives a name its value."""

from __future__ import annotations

import ast
from pathlib import Path

from quickfit.fixes.script import Function, Project, Script


def called(call: ast.Call) -> str:
    """Return the last name of what a call calls."""
    return last_name(call.func)


def last_name(node: ast.expr) -> str:
    """Return `fit` of `model.fit` and of `fit`; nothing of other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def call_at(script: Script, line: int, *names: str) -> ast.Call | None:
    """Return the only call of one of these names that stands at a line."""
    calls = [call for call in script.all(ast.Call) if called(call) in names]
    on_line = [call for call in calls if call.func.end_lineno == line]
    around = [call for call in calls if call.lineno <= line <= (call.end_lineno or 0)]
    found = on_line or around
    return found[0] if len(found) == 1 else None


def argument(call: ast.Call, name: str) -> ast.expr | None:
    """Return what a call is given for a keyword."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def may_have_more(call: ast.Call) -> bool:
    """Tell whether a call has arguments that its text does not name: `*args` or `**options`."""
    starred = any(isinstance(arg, ast.Starred) for arg in call.args)
    return starred or any(keyword.arg is None for keyword in call.keywords)


def bindings(script: Script, name: str) -> list[ast.AST]:
    """Return every node that gives a value to a name, in whatever scope."""
    return [node for node in ast.walk(script.tree) if _bound(node) == name]


def _bound(node: ast.AST) -> str | None:
    """Return the name that a node gives a value to."""
    if isinstance(node, ast.Name):
        return None if isinstance(node.ctx, ast.Load) else node.id
    if isinstance(node, ast.alias):
        return (node.asname or node.name).split(".")[0]
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, Function | ast.ClassDef | ast.ExceptHandler):
        return node.name
    return None


def loads(script: Script, name: str, within: ast.AST | None = None) -> list[ast.Name]:
    """Return the places that read a name."""
    names = script.all(ast.Name, within)
    return [n for n in names if n.id == name and isinstance(n.ctx, ast.Load)]


def only_value(script: Script, name: str) -> ast.expr | None:
    """Return what is assigned to a name that the whole file binds once, by `name = value`."""
    found = bindings(script, name)
    return assigned(script, found[0]) if len(found) == 1 else None


def assigned(script: Script, target: ast.AST) -> ast.expr | None:
    """Return the value of the plain assignment that a target is part of."""
    parent = script.parent(target)
    if isinstance(parent, ast.Assign) and parent.targets == [target]:
        return parent.value
    return parent.value if isinstance(parent, ast.AnnAssign) else None


def imported(script: Script, name: str, project: Project) -> tuple[Script, str] | None:
    """Return the file of the project that a name is imported from, and its name there."""
    found = bindings(script, name)
    node = script.parent(found[0]) if len(found) == 1 else None
    alias = found[0] if found else None
    if not isinstance(node, ast.ImportFrom) or not isinstance(alias, ast.alias):
        return None
    other = _module(script, node.module or "", project)
    return (other, alias.name) if other is not None else None


def _module(script: Script, module: str, project: Project) -> Script | None:
    """Return the file of a module, where only one of the project can be it."""
    end = f"{module.replace('.', '/')}.py"
    files = [f for f in project.files if f == end or f.endswith(f"/{end}")]
    near = [f for f in files if Path(f).parent == Path(script.file).parent]
    found = near if len(near) == 1 else files
    return project.script(found[0]) if len(found) == 1 else None
