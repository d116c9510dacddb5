"""Names in one script: who binds and reads them, in which scope, and for how long.

Each follower of a name answers another question, the most careful one first:

- `binding_in_block`: which statement of this block certainly gave the name its value here; for
  edits that move code.
- `only_value`: what a function or module binds the name to, once and in no loop.
- `only_value_in_file`: what the whole file binds the name to, once; for settings and constants.
- `code.resolver`: everything that an expression may stand for, through branches, calls and files;
  for what the text alone has to prove.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from pathlib import Path

from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import COMPREHENSIONS, FUNCTIONS, LOOPS, Def, Function, Loop, own_nodes

Scope = ast.Module | Def


def nodes_in_scope(*roots: ast.AST) -> list[ast.AST]:
    """Return nodes and all below them, but not what is inside functions and classes in them."""
    inner = (own_nodes(root) for root in roots if not isinstance(root, (*FUNCTIONS, ast.ClassDef)))
    return [*roots, *(node for nodes in inner for node in nodes)]


def reads(*nodes: ast.AST) -> set[str]:
    """Return the names that code reads, also in functions inside it."""
    found = (n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))
    return {n.id for n in found if isinstance(n.ctx, ast.Load)}


def writes(*nodes: ast.AST) -> set[str]:
    """Return the names that code binds in its own scope."""
    names: set[str] = set()
    for node in nodes_in_scope(*nodes):
        names |= _names_bound(node)
    return names - _only_in_comprehensions(nodes)


def _only_in_comprehensions(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that are bound by comprehensions and nothing else."""
    inside = [
        target
        for root in nodes
        for node in ast.walk(root)
        if isinstance(node, COMPREHENSIONS)
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


def _names_bound(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        return {node.id}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(a.asname or a.name).partition(".")[0] for a in node.names}
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        return {node.name}
    return set()


def parameters(function: Def | ast.Lambda) -> list[str]:
    """Return the names of a function's parameters."""
    args = function.args
    extra = [a for a in (args.vararg, args.kwarg) if a is not None]
    return [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, *extra)]


def local_names(function: Def) -> set[str]:
    """Return the names that belong to a function: its parameters and what its body binds."""
    declared = {
        name
        for node in nodes_in_scope(*function.body)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }
    return (set(parameters(function)) | writes(*function.body)) - declared


def imports_or_defines(module: Module) -> set[str]:
    """Return the names that stand for modules, functions and classes at the top of a file."""
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [
        n
        for n in module.all(*kinds)
        if isinstance(n, ast.Import | ast.ImportFrom) or module.parent(n) is module.tree
    ]
    return {name for node in found for name in _names_bound(node)}


def scope_of(module: Module, node: ast.AST) -> Scope:
    """Return the function or module that a node stands in; classes and lambdas do not count."""
    return module.around(node, ast.FunctionDef, ast.AsyncFunctionDef) or module.tree


def binders(scope: Scope, name: str) -> list[ast.AST]:
    """Return the nodes that bind a name in a scope: names that are stored, functions, imports."""
    return [node for node in nodes_in_scope(*scope.body) if name in _names_bound(node)]


def loops_around(module: Module, node: ast.AST) -> list[Loop]:
    """Return the loops of the same scope around a node, the innermost first."""
    found: list[Loop] = []
    scope, at = scope_of(module, node), module.parent(node)
    while at is not None and at is not scope:
        if isinstance(at, Loop):
            found.append(at)
        at = module.parent(at)
    return found


def value_of(module: Module, binder: ast.AST) -> ast.expr | None:
    """Return what `name = value` gives a name; None for every other way to bind it."""
    statement = module.parent(binder)
    if isinstance(statement, ast.Assign) and binder in statement.targets:
        return statement.value
    if isinstance(statement, ast.AnnAssign) and statement.target is binder:
        return statement.value
    if isinstance(statement, ast.Tuple):  # `a, b = one, two`
        whole = module.parent(statement)
        if (
            isinstance(whole, ast.Assign)
            and statement in whole.targets
            and isinstance(whole.value, ast.Tuple)
            and len(whole.value.elts) == len(statement.elts)
        ):
            return whole.value.elts[statement.elts.index(binder)]  # type: ignore[arg-type]
    return None


def only_value(module: Module, scope: Scope, name: str) -> ast.expr | None:
    """Return the value of a name that is bound once in a scope, by an assignment in no loop."""
    found = binders(scope, name)
    if len(found) != 1 or loops_around(module, found[0]):
        return None
    if isinstance(scope, Def) and name in parameters(scope):
        return None
    return value_of(module, found[0])


def dotted(node: ast.expr) -> str:
    """Return `a.b.c` for such an expression; nothing for any other."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return ".".join([node.id, *parts]) if isinstance(node, ast.Name) else ""


def import_path(module: Module, name: str) -> str:
    """Return the full path that a dotted name means by the file's imports; nothing if none."""
    root, _, rest = name.partition(".")
    for node in module.all(ast.Import) + module.all(ast.ImportFrom):
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


def is_called_in_loop(module: Module, name: str) -> bool:
    """Tell whether a function or method of a name is called inside a loop or a comprehension."""
    return any(
        loops_around(module, call) or module.around(call, *COMPREHENSIONS)
        for call in module.calls(name)
    )


def call_at(module: Module, line: int, *names: str) -> ast.Call | None:
    """Return the only call of one of these names that stands at a line."""
    calls = module.calls(*names)
    on_line = [call for call in calls if call.func.end_lineno == line]
    around = [call for call in calls if call.lineno <= line <= (call.end_lineno or 0)]
    found = on_line or around
    return found[0] if len(found) == 1 else None


def binders_in_file(module: Module, name: str) -> list[ast.AST]:
    """Return every node that gives a value to a name, in whatever scope."""
    return [node for node in ast.walk(module.tree) if _name_bound(node) == name]


def _name_bound(node: ast.AST) -> str | None:
    """Return the name that a node gives a value to."""
    if isinstance(node, ast.Name):
        return None if isinstance(node.ctx, ast.Load) else node.id
    if isinstance(node, ast.alias):
        return (node.asname or node.name).split(".")[0]
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, Def | ast.ClassDef | ast.ExceptHandler):
        return node.name
    return None


def reads_in_file(module: Module, name: str, within: ast.AST | None = None) -> list[ast.Name]:
    """Return the places that read a name."""
    names = module.all(ast.Name, within=within)
    return [n for n in names if n.id == name and isinstance(n.ctx, ast.Load)]


def only_value_in_file(module: Module, name: str) -> ast.expr | None:
    """Return what is assigned to a name that the whole file binds once, by `name = value`."""
    found = binders_in_file(module, name)
    return assigned_value(module, found[0]) if len(found) == 1 else None


def assigned_value(module: Module, target: ast.AST) -> ast.expr | None:
    """Return the value of the plain assignment that a target is part of."""
    parent = module.parent(target)
    if isinstance(parent, ast.Assign) and parent.targets == [target]:
        return parent.value
    return parent.value if isinstance(parent, ast.AnnAssign) else None


def imported_from_project(module: Module, name: str, program: Program) -> tuple[Module, str] | None:
    """Return the file of the project that a name is imported from, and its name there."""
    found = binders_in_file(module, name)
    node = module.parent(found[0]) if len(found) == 1 else None
    alias = found[0] if found else None
    if not isinstance(node, ast.ImportFrom) or not isinstance(alias, ast.alias):
        return None
    other = _file_of_import(module, node.module or "", program)
    return (other, alias.name) if other is not None else None


def _file_of_import(module: Module, name: str, program: Program) -> Module | None:
    """Return the file of a module, where only one of the project can be it."""
    end = f"{name.replace('.', '/')}.py"
    files = [f for f in program.paths if f == end or f.endswith(f"/{end}")]
    near = [f for f in files if Path(f).parent == Path(module.path).parent]
    found = near if len(near) == 1 else files
    return program.find_module(found[0]) if len(found) == 1 else None


NameScope = ast.Module | Function | ast.ClassDef
_SCOPES = (ast.Module, *FUNCTIONS, ast.ClassDef)


def name_scope_of(module: Module, node: ast.AST) -> NameScope:
    """Return the function, class or module whose names a node sees first."""
    found: ast.AST | None = module.parent(node)
    while found is not None and not isinstance(found, _SCOPES):
        found = module.parent(found)
    return found if isinstance(found, _SCOPES) else module.tree


def target_of(statement: ast.stmt) -> str | None:
    """Return the one name that a statement gives a value, and nothing else."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        target = statement.target
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


def value_of_statement(statement: ast.stmt) -> ast.expr | None:
    """Return what a statement assigns."""
    return statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None


def may_bind(node: ast.AST, name: str) -> bool:
    """Tell whether code may give a name a value; a function inside has names of its own."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id == name and not isinstance(part.ctx, ast.Load):
            return True
        if isinstance(part, ast.Global | ast.Nonlocal) and name in part.names:
            return True
        if isinstance(part, Def | ast.ClassDef) and part.name == name:
            return True
        if isinstance(part, ast.alias) and (part.asname or part.name).split(".")[0] == name:
            return True
    return False


def binding_in_block(module: Module, name: ast.Name) -> ast.stmt | None:
    """Return the statement of the same block that gave a name its value; None in any doubt."""
    use = module.statement(name)
    block = module.block(use)
    for statement in reversed(block[: block.index(use)]):
        if may_bind(statement, name.id):
            return statement if target_of(statement) == name.id else None
    return None


def only_binding(module: Module, name: ast.Name) -> ast.stmt | None:
    """Return the only statement of the file that gives a name a value, at its top level."""
    found = [s for s in ast.walk(module.tree) if isinstance(s, ast.stmt) and _is_own(s, name.id)]
    if len(found) != 1 or target_of(found[0]) != name.id or is_argument(module, name):
        return None
    return found[0] if module.parent(found[0]) is module.tree else None


def _is_own(statement: ast.stmt, name: str) -> bool:
    """Tell whether a statement itself, and not one inside it, stores a name."""
    if isinstance(statement, Def | ast.ClassDef):
        return statement.name == name
    inside = [s for s in ast.walk(statement) if isinstance(s, ast.stmt) and s is not statement]
    return may_bind(statement, name) and not any(may_bind(part, name) for part in inside)


def is_argument(module: Module, name: ast.Name) -> bool:
    """Tell whether a name is an argument of a function around it."""
    scope: ast.AST | None = name_scope_of(module, name)
    while scope is not None:
        if isinstance(scope, Def | ast.Lambda) and name.id in parameters(scope):
            return True
        scope = module.around(scope, *_SCOPES)
    return False


def reads_of_assignment(module: Module, statement: ast.stmt) -> list[ast.Name] | None:
    """Return the places that read what a statement assigns to a name; None in any doubt."""
    name = target_of(statement)
    scope = name_scope_of(module, statement)
    if name is None or _is_shared(module, name):
        return None
    begin, end = module.end(statement), _overwritten(module, statement, name)
    found = []
    for node in module.all(ast.Name, within=scope):
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        inner = name_scope_of(module, node)
        if inner is not scope:
            if not _is_local(module, node, scope):
                return None  # a function may read it at any time
            continue
        if module.begin(node) > begin and (end is None or module.begin(node) < end):
            found.append(node)
        elif end is None and _shares_loop(module, node, statement):
            return None  # read in the next turn
    return found


def _is_shared(module: Module, name: str) -> bool:
    said = [n for n in ast.walk(module.tree) if isinstance(n, ast.Global | ast.Nonlocal)]
    return any(name in node.names for node in said)


def _overwritten(module: Module, statement: ast.stmt, name: str) -> tuple[int, int] | None:
    """Return where the name certainly gets another value, in the same block."""
    block = module.block(statement)
    for later in block[block.index(statement) + 1 :]:
        if target_of(later) == name:
            return module.end(later)
    return None


def _is_local(module: Module, name: ast.Name, outer: NameScope) -> bool:
    """Tell whether a name that a function inside another reads is that function's own."""
    scope: ast.AST | None = name_scope_of(module, name)
    while scope is not None and scope is not outer:
        if isinstance(scope, Def | ast.Lambda) and name.id in parameters(scope):
            return True
        if isinstance(scope, Def) and any(may_bind(part, name.id) for part in scope.body):
            return True
        scope = module.around(scope, *_SCOPES)
    return False


def _shares_loop(module: Module, node: ast.AST, statement: ast.stmt) -> bool:
    loop: ast.AST | None = module.around(statement, *LOOPS, *_SCOPES)
    while isinstance(loop, Loop):
        if any(part is node for part in ast.walk(loop)):
            return True
        loop = module.around(loop, *LOOPS, *_SCOPES)
    return False


def first_reads(body: Iterable[ast.stmt]) -> list[str]:
    """Return the names that statements read before they have bound them, in order."""
    found: list[str] = []
    _walk(body, set(), found)
    return list(dict.fromkeys(found))


def _walk(body: Iterable[ast.stmt], bound: set[str], found: list[str]) -> None:
    for statement in body:
        if isinstance(statement, ast.With):
            _add((i.context_expr for i in statement.items), bound, found)
            bound |= writes(*(i.optional_vars for i in statement.items if i.optional_vars))
            _walk(statement.body, bound, found)
        elif isinstance(statement, ast.For | ast.If):
            asked = statement.iter if isinstance(statement, ast.For) else statement.test
            _add([asked], bound, found)
            # What a loop or a branch binds may not be bound: nothing inside counts for later.
            inner = bound | (writes(statement.target) if isinstance(statement, ast.For) else set())
            _walk(statement.body, set(inner), found)
            _walk(statement.orelse, set(inner), found)
        else:
            if isinstance(statement, ast.AugAssign):
                _add([ast.Name(n, ast.Load()) for n in writes(statement.target)], bound, found)
            _add([statement], bound, found)
            bound |= writes(statement)


def _add(nodes: Iterable[ast.AST], bound: set[str], found: list[str]) -> None:
    for node in nodes:
        stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
        inside = {n.id for n in stored if isinstance(n.ctx, ast.Store)} - writes(node)
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        names.sort(key=lambda n: (getattr(n, "lineno", 0), getattr(n, "col_offset", 0)))
        loaded = [n.id for n in names if isinstance(n.ctx, ast.Load)]
        for function in (n for n in ast.walk(node) if isinstance(n, ast.Lambda)):
            inside |= set(parameters(function))
        found += [name for name in loaded if name not in bound and name not in inside]


def is_read_after(module: Module, name: str, body: Sequence[ast.stmt]) -> bool:
    """Tell whether what statements bind a name to may be read outside them."""
    scope = scope_of(module, body[0])
    inside = {n for s in body for n in ast.walk(s)}
    for node in ast.walk(scope):
        if not isinstance(node, ast.Name) or node.id != name or node in inside:
            continue
        if isinstance(node.ctx, ast.Store) or _is_own_of_other(module, node, scope):
            continue
        if not _is_bound_before(module, node, inside):
            return True
    return False


def _is_own_of_other(module: Module, node: ast.Name, scope: ast.AST) -> bool:
    """Tell whether a name inside another function is that function's own."""
    other = scope_of(module, node)
    if other is scope or not isinstance(other, Def):
        return False
    return node.id in writes(*other.body) or node.id in parameters(other)


def _is_bound_before(module: Module, node: ast.Name, inside: set[ast.AST]) -> bool:
    """Tell whether a name is certainly bound anew before it is read at a node."""
    at: ast.AST = node
    while True:
        parent = module.parent(at)
        if parent is None:
            return False
        if isinstance(parent, ast.For) and at in parent.body and node.id in writes(parent.target):
            return True
        if isinstance(parent, ast.With) and at in parent.body:
            named = [i.optional_vars for i in parent.items if i.optional_vars]
            if node.id in writes(*named):
                return True
        if isinstance(at, ast.stmt) and _is_bound_above(module, at, node.id, inside):
            return True
        if isinstance(parent, Loop) and inside & set(ast.walk(parent)):
            return False  # a turn reads what the turn before it bound
        at = parent


def _is_bound_above(module: Module, at: ast.stmt, name: str, inside: set[ast.AST]) -> bool:
    """Tell whether a statement of the same block binds a name, with nothing of ours between."""
    block = module.block(at)
    for before in reversed(block[: block.index(at)]):
        if inside & set(ast.walk(before)):
            return False
        if isinstance(before, ast.Assign | ast.AnnAssign | ast.With) and name in writes(before):
            return True
    return False
