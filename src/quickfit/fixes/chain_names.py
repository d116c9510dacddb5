"""Follows a name through straight-line code: which statement gives it a value, and who reads that.

Only what the text says for certain counts. A name that a branch, a loop or another function may
give a value to is not followed.
"""

from __future__ import annotations

import ast

from quickfit.fixes.script import Script

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
Loop = ast.For | ast.AsyncFor | ast.While
_SCOPES = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def scope_of(script: Script, node: ast.AST) -> Scope:
    """Return the function, class or module whose names a node sees first."""
    found: ast.AST | None = script.parent(node)
    while found is not None and not isinstance(found, _SCOPES):
        found = script.parent(found)
    return found if isinstance(found, _SCOPES) else script.tree


def target_of(statement: ast.stmt) -> str | None:
    """Return the one name that a statement gives a value, and nothing else."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target = statement.target
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


def value_of(statement: ast.stmt) -> ast.expr | None:
    """Return what a statement assigns."""
    return statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None


def stores(node: ast.AST, name: str) -> bool:
    """Tell whether code may give a name a value; a function inside has names of its own."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load):
            return True
        if isinstance(part, ast.Global | ast.Nonlocal) and name in part.names:
            return True
        if isinstance(part, Function | ast.ClassDef) and part.name == name:
            return True
        if isinstance(part, ast.alias) and (part.asname or part.name).split(".")[0] == name:
            return True
    return False


def binding(script: Script, name: ast.Name) -> ast.stmt | None:
    """Return the statement of the same block that gave a name its value; None in any doubt."""
    use = script.statement(name)
    block = script.block(use)
    for statement in reversed(block[: block.index(use)]):
        if stores(statement, name.id):
            return statement if target_of(statement) == name.id else None
    return None


def only_binding(script: Script, name: ast.Name) -> ast.stmt | None:
    """Return the only statement of the file that gives a name a value, at its top level."""
    found = [s for s in ast.walk(script.tree) if isinstance(s, ast.stmt) and _is_own(s, name.id)]
    if len(found) != 1 or target_of(found[0]) != name.id or is_argument(script, name):
        return None
    return found[0] if script.parent(found[0]) is script.tree else None


def _is_own(statement: ast.stmt, name: str) -> bool:
    """Tell whether a statement itself, and not one inside it, stores a name."""
    if isinstance(statement, Function | ast.ClassDef):
        return statement.name == name
    inside = [s for s in ast.walk(statement) if isinstance(s, ast.stmt) and s is not statement]
    return stores(statement, name) and not any(stores(part, name) for part in inside)


def is_argument(script: Script, name: ast.Name) -> bool:
    """Tell whether a name is an argument of a function around it."""
    scope: ast.AST | None = scope_of(script, name)
    while scope is not None:
        if isinstance(scope, Function | ast.Lambda) and name.id in arguments(scope):
            return True
        scope = script.around(scope, *_SCOPES)
    return False


def arguments(function: Function | ast.Lambda) -> list[str]:
    """Return the names of all arguments of a function."""
    args = function.args
    several = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    stars = [arg for arg in (args.vararg, args.kwarg) if arg is not None]
    return [arg.arg for arg in (*several, *stars)]


def uses(script: Script, statement: ast.stmt) -> list[ast.Name] | None:
    """Return the places that read what a statement assigns to a name; None in any doubt."""
    name = target_of(statement)
    scope = scope_of(script, statement)
    if name is None or _is_shared(script, name):
        return None
    begin, end = script.end(statement), _overwritten(script, statement, name)
    found = []
    for node in script.all(ast.Name, scope):
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        inner = scope_of(script, node)
        if inner is not scope:
            if not _is_local(script, node, scope):
                return None  # a function may read it at any time
            continue
        if script.begin(node) > begin and (end is None or script.begin(node) < end):
            found.append(node)
        elif end is None and _shares_loop(script, node, statement):
            return None  # read in the next turn
    return found


def _is_shared(script: Script, name: str) -> bool:
    said = [n for n in ast.walk(script.tree) if isinstance(n, ast.Global | ast.Nonlocal)]
    return any(name in node.names for node in said)


def _overwritten(script: Script, statement: ast.stmt, name: str) -> tuple[int, int] | None:
    """Return where the name certainly gets another value, in the same block."""
    block = script.block(statement)
    for later in block[block.index(statement) + 1 :]:
        if target_of(later) == name:
            return script.end(later)
    return None


def _is_local(script: Script, name: ast.Name, outer: Scope) -> bool:
    """Tell whether a name that a function inside another reads is that function's own."""
    scope: ast.AST | None = scope_of(script, name)
    while scope is not None and scope is not outer:
        if isinstance(scope, Function | ast.Lambda) and name.id in arguments(scope):
            return True
        if isinstance(scope, Function) and any(stores(part, name.id) for part in scope.body):
            return True
        scope = script.around(scope, *_SCOPES)
    return False


def _shares_loop(script: Script, node: ast.AST, statement: ast.stmt) -> bool:
    loop: ast.AST | None = script.around(statement, *_LOOPS, *_SCOPES)
    while isinstance(loop, Loop):
        if any(part is node for part in ast.walk(loop)):
            return True
        loop = script.around(loop, *_LOOPS, *_SCOPES)
    return False
