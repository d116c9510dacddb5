"""Which names of a loop hold what a compiled step returned: tensors that never change."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from quickfit.code.module import Module
from quickfit.code.scopes import (
    binders,
    dotted,
    import_path,
    nodes_in_scope,
    only_value,
    scope_of,
    value_of,
    writes,
)
from quickfit.code.syntax import Def

_READERS = {"float", "int", "round", "abs", "str"}
_METHODS = {"numpy", "item"}
_PLAIN = (
    ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.BinOp, ast.UnaryOp, ast.Call,
    ast.Attribute, ast.operator, ast.unaryop, ast.expr_context,
)  # fmt: skip


def step_tensors(module: Module, loop: ast.For, modules: Sequence[Module]) -> dict[str, ast.stmt]:
    """Return the names that the turns of a loop bind once, to results of a compiled step."""
    found: dict[str, ast.stmt] = {}
    for statement in loop.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        call, target = statement.value, statement.targets[0]
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        if isinstance(call, ast.Call) and is_compiled(module, call, modules):
            found |= dict.fromkeys(names, statement)
    whole = ast.Module([loop], [])
    return {name: s for name, s in found.items() if len(binders(whole, name)) == 1}


def is_compiled(module: Module, call: ast.Call, modules: Sequence[Module]) -> bool:
    """Tell whether a call runs a function of the project that is a `tf.function`."""
    name = dotted(call.func)
    owner, _, last = name.rpartition(".")
    if not name or owner.count("."):
        return False
    wrapped = _wrapped(module, call) if not owner else None
    if wrapped is not None:
        return _is_compiler(module, wrapped.func)
    path = import_path(module, name)
    last = path.rpartition(".")[2] if path else last
    made = [(s, f) for s in modules for f in s.all(ast.FunctionDef) if f.name == last]
    if len(made) != 1 or (path and path.startswith(("tensorflow", "keras"))):
        return False
    where, function = made[0]
    is_method = isinstance(where.parent(function), ast.ClassDef)
    if is_method != bool(owner) or (owner and not _is_of(module, call, owner, where, function)):
        return False
    return any(_is_compiler(where, d) for d in function.decorator_list)


def _wrapped(module: Module, call: ast.Call) -> ast.Call | None:
    """Return `tf.function(step)` where that is the only value of the name that is called."""
    assert isinstance(call.func, ast.Name)
    scope = scope_of(module, call)
    for place in (scope, module.tree):
        if binders(place, call.func.id):
            value = only_value(module, place, call.func.id)
            return value if isinstance(value, ast.Call) else None
    return None


def _is_compiler(module: Module, node: ast.expr) -> bool:
    compiler = node.func if isinstance(node, ast.Call) else node
    return import_path(module, dotted(compiler)) == "tensorflow.function"


def _is_of(
    module: Module, call: ast.Call, owner: str, where: Module, function: ast.FunctionDef
) -> bool:
    """Tell whether a method belongs to the object that it is asked of."""
    kind = where.parent(function)
    assert isinstance(kind, ast.ClassDef)
    if owner == "self":
        return module.around(call, ast.ClassDef) is kind
    scope = scope_of(module, call)
    found = binders(scope, owner) or binders(module.tree, owner)
    values = [value_of(module, node) for node in found]
    made = [dotted(v.func).rpartition(".")[2] if isinstance(v, ast.Call) else "" for v in values]
    return bool(made) and all(name == kind.name for name in made)


def counters(loop: ast.For) -> set[str]:
    """Return the names of whole numbers that a loop counts with."""
    call, target = loop.iter, loop.target
    name = dotted(call.func) if isinstance(call, ast.Call) else ""
    if name == "enumerate" and isinstance(target, ast.Tuple):
        target = target.elts[0]
    elif name != "range":
        return set()
    is_own = isinstance(target, ast.Name) and target.id not in writes(*loop.body)
    return {target.id} if is_own and isinstance(target, ast.Name) else set()


def is_reading(value: ast.expr, known: Iterable[str]) -> bool:
    """Tell whether an expression only takes values out of tensors of these names."""
    known = set(known)
    for node in ast.walk(value):
        if not isinstance(node, _PLAIN):
            return False
        if isinstance(node, ast.Name) and node.id not in known | _READERS:
            return False
        if isinstance(node, ast.Call) and not _is_reader(node):
            return False
        if isinstance(node, ast.Attribute) and node.attr not in _METHODS:
            return False
    return True


def _is_reader(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in _METHODS and not call.args and not call.keywords
    return isinstance(call.func, ast.Name) and call.func.id in _READERS and not call.keywords


def waits_for(node: ast.AST, names: Iterable[str]) -> bool:
    """Tell whether code takes a number out of a tensor of one of these names."""
    known = set(names)
    for call in (n for n in ast.walk(node) if isinstance(n, ast.Call)):
        reader = call.func
        if isinstance(reader, ast.Attribute) and reader.attr == "numpy":
            inner: list[ast.expr] = [reader.value]
        else:
            inner = call.args if dotted(reader) in ("float", "int") else []
        if any(isinstance(one, ast.Name) and one.id in known for one in inner):
            return True
    return False


def functions_reached(nodes: Iterable[ast.AST], modules: Sequence[Module]) -> list[Def]:
    """Return the project's functions that code may run, by their names; rather one too many."""
    found: list[Def] = []
    waiting = list(nodes)
    own = [f for s in modules for f in s.all(ast.FunctionDef) + s.all(ast.AsyncFunctionDef)]
    while waiting:
        node = waiting.pop()
        names = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
        names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        more = [f for f in own if f.name in names and f not in found]
        found += more
        waiting += more
    return found


def leaves_function(loop: ast.For) -> bool:
    """Tell whether what stands behind a loop may not run when the loop is over."""
    return any(isinstance(n, ast.Return | ast.Yield | ast.YieldFrom) for n in nodes_in_scope(loop))
