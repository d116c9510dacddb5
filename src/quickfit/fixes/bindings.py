"""Which names a piece of code reads and binds, and where a name of a scope gets its values."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from quickfit.fixes.script import Function, Project, Script

Loop = ast.For | ast.AsyncFor | ast.While
Scope = ast.Module | Function
_NEW_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def scripts_of(project: Project) -> list[Script]:
    """Return all files of a project that are Python."""
    found = (project.script(file) for file in project.files)
    return [script for script in found if script is not None]


def own_nodes(*roots: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes and all below them, but not what is inside functions and classes in them."""
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _NEW_SCOPE):
            waiting += ast.iter_child_nodes(node)


def reads(*nodes: ast.AST) -> set[str]:
    """Return the names that code reads, also in functions inside it."""
    found = (n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))
    return {n.id for n in found if isinstance(n.ctx, ast.Load)}


def writes(*nodes: ast.AST) -> set[str]:
    """Return the names that code binds in its own scope."""
    names: set[str] = set()
    for node in own_nodes(*nodes):
        names |= _bound(node)
    return names - _only_in_comprehensions(nodes)


def _only_in_comprehensions(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that are bound by comprehensions and nothing else."""
    inside = [
        target
        for root in nodes
        for node in ast.walk(root)
        if isinstance(node, _COMPREHENSIONS)
        for generator in node.generators
        for target in ast.walk(generator.target)
    ]
    names = {n.id for n in inside if isinstance(n, ast.Name)}
    others = {
        n.id
        for root in nodes
        for n in ast.walk(root)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store | ast.Del) and n not in inside
    }
    return names - others


def _bound(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        return {node.id}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(a.asname or a.name).partition(".")[0] for a in node.names}
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        return {node.name}
    return set()


def parameters(function: Function | ast.Lambda) -> list[str]:
    """Return the names of a function's parameters."""
    args = function.args
    extra = [a for a in (args.vararg, args.kwarg) if a is not None]
    return [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, *extra)]


def local_names(function: Function) -> set[str]:
    """Return the names that belong to a function: its parameters and what its body binds."""
    declared = {
        name
        for node in own_nodes(*function.body)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }
    return (set(parameters(function)) | writes(*function.body)) - declared


def scope_of(script: Script, node: ast.AST) -> Scope:
    """Return the function, or the module, that a node stands in."""
    return script.around(node, ast.FunctionDef, ast.AsyncFunctionDef) or script.tree


def binders(scope: Scope, name: str) -> list[ast.AST]:
    """Return the nodes that bind a name in a scope: names that are stored, functions, imports."""
    return [node for node in own_nodes(*scope.body) if name in _bound(node)]


def loops_around(script: Script, node: ast.AST) -> list[Loop]:
    """Return the loops of the same scope around a node, the innermost first."""
    found: list[Loop] = []
    scope, at = scope_of(script, node), script.parent(node)
    while at is not None and at is not scope:
        if isinstance(at, Loop):
            found.append(at)
        at = script.parent(at)
    return found


def value_of(script: Script, binder: ast.AST) -> ast.expr | None:
    """Return what `name = value` gives a name; None for every other way to bind it."""
    statement = script.parent(binder)
    if isinstance(statement, ast.Assign) and binder in statement.targets:
        return statement.value
    if isinstance(statement, ast.AnnAssign) and statement.target is binder:
        return statement.value
    if isinstance(statement, ast.Tuple):  # `a, b = one, two`
        whole = script.parent(statement)
        if (
            isinstance(whole, ast.Assign)
            and statement in whole.targets
            and isinstance(whole.value, ast.Tuple)
            and len(whole.value.elts) == len(statement.elts)
        ):
            return whole.value.elts[statement.elts.index(binder)]  # type: ignore[arg-type]
    return None


def only_value(script: Script, scope: Scope, name: str) -> ast.expr | None:
    """Return the value of a name that is bound once in a scope, by an assignment in no loop."""
    found = binders(scope, name)
    if len(found) != 1 or loops_around(script, found[0]):
        return None
    if isinstance(scope, Function) and name in parameters(scope):
        return None
    return value_of(script, found[0])


def dotted(node: ast.expr) -> str:
    """Return `a.b.c` for such an expression; nothing for any other."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return ".".join([node.id, *parts]) if isinstance(node, ast.Name) else ""


def imported(script: Script, name: str) -> str:
    """Return the full path that a dotted name means by the file's imports; nothing if none."""
    root, _, rest = name.partition(".")
    for node in script.all(ast.Import) + script.all(ast.ImportFrom):
        path = _import_path(node, root)
        if path:
            return f"{path}.{rest}" if rest else path
    return ""


def _import_path(node: ast.Import | ast.ImportFrom, root: str) -> str:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            if (alias.asname or alias.name) == root:
                return f"{'.' * node.level}{node.module or ''}.{alias.name}"
        elif (alias.asname or alias.name.partition(".")[0]) == root:
            return alias.name if alias.asname else root
    return ""


def is_called_in_loop(script: Script, name: str) -> bool:
    """Tell whether a function or method of a name is called inside a loop or a comprehension."""
    for node in script.all(ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else dotted(node.func)
        if called == name and (loops_around(script, node) or script.around(node, *_COMPREHENSIONS)):
            return True
    return False
