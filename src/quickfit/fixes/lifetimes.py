"""Which values that code needs come from before it, and which of its own are read after it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from quickfit.fixes.bindings import Loop, parameters, scope_of, writes
from quickfit.fixes.script import Function, Script


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


def is_read_after(script: Script, name: str, body: Sequence[ast.stmt]) -> bool:
    """Tell whether what statements bind a name to may be read outside them."""
    scope = scope_of(script, body[0])
    inside = {n for s in body for n in ast.walk(s)}
    for node in ast.walk(scope):
        if not isinstance(node, ast.Name) or node.id != name or node in inside:
            continue
        if isinstance(node.ctx, ast.Store) or _is_own_of_other(script, node, scope):
            continue
        if not _is_bound_before(script, node, inside):
            return True
    return False


def _is_own_of_other(script: Script, node: ast.Name, scope: ast.AST) -> bool:
    """Tell whether a name inside another function is that function's own."""
    other = scope_of(script, node)
    if other is scope or not isinstance(other, Function):
        return False
    return node.id in writes(*other.body) or node.id in parameters(other)


def _is_bound_before(script: Script, node: ast.Name, inside: set[ast.AST]) -> bool:
    """Tell whether a name is certainly bound anew before it is read at a node."""
    at: ast.AST = node
    while True:
        parent = script.parent(at)
        if parent is None:
            return False
        if isinstance(parent, ast.For) and at in parent.body and node.id in writes(parent.target):
            return True
        if isinstance(parent, ast.With) and at in parent.body:
            named = [i.optional_vars for i in parent.items if i.optional_vars]
            if node.id in writes(*named):
                return True
        if isinstance(at, ast.stmt) and _is_bound_above(script, at, node.id, inside):
            return True
        if isinstance(parent, Loop) and inside & set(ast.walk(parent)):
            return False  # a turn reads what the turn before it bound
        at = parent


def _is_bound_above(script: Script, at: ast.stmt, name: str, inside: set[ast.AST]) -> bool:
    """Tell whether a statement of the same block binds a name, with nothing of ours between."""
    block = script.block(at)
    for before in reversed(block[: block.index(at)]):
        if inside & set(ast.walk(before)):
            return False
        if isinstance(before, ast.Assign | ast.AnnAssign | ast.With) and name in writes(before):
            return True
    return False
