"""Finds the lines whose results a line of a loop works on, in the text of a script."""

from __future__ import annotations

import ast

from quickfit.source.calls import parsed

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
_BLOCKS = (Function, Loop, ast.If, ast.With, ast.AsyncWith, ast.Try, ast.ClassDef)


def loop_end(text: str, line: int) -> int:
    """Return the last line of the loop that stands at a line; the line itself without one."""
    tree = parsed(text)
    loops = [n for n in ast.walk(tree) if isinstance(n, Loop)] if tree is not None else []
    return max((n.end_lineno or line for n in loops if n.lineno == line), default=line)


def feeding_lines(text: str, line: int) -> set[int]:
    """Return the lines of the statement at a line, and of those that make what it works on.

    They are looked for in the innermost loop or function around it: what is made before a loop is
    not made in each of its turns.
    """
    tree = parsed(text)
    if tree is None:
        return {line}
    scope = _around(tree, line)
    statements = _statements(scope)
    here = [s for s in statements if s.lineno <= line <= (s.end_lineno or 0)]
    fed, names = list(here), _read(here)
    for _ in statements:
        more = [s for s in statements if s not in fed and _made(s) & names]
        if not more:
            break
        fed += more
        names |= _read(more)
    lines = {line}.union(*(range(s.lineno, (s.end_lineno or s.lineno) + 1) for s in fed))
    if isinstance(scope, ast.For | ast.AsyncFor) and _names(scope.target) & names:
        lines.add(scope.lineno)  # a generator makes it, at the loop's own line
    return lines


def _around(tree: ast.Module, line: int) -> ast.AST:
    blocks = [n for n in ast.walk(tree) if isinstance(n, (Function, Loop))]
    inside = [n for n in blocks if n.lineno <= line <= (n.end_lineno or 0)]
    return max(inside, key=lambda n: n.lineno, default=tree)


def _statements(scope: ast.AST) -> list[ast.stmt]:
    """Return the simple statements of a block, not those of functions inside it."""
    found: list[ast.stmt] = []
    waiting = [node for node in ast.iter_child_nodes(scope) if isinstance(node, ast.stmt)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function | ast.ClassDef):
            continue
        if isinstance(node, _BLOCKS):
            waiting += [n for n in ast.walk(node) if isinstance(n, ast.stmt) and n is not node]
        elif node not in found:
            found.append(node)
    return sorted(found, key=lambda node: node.lineno)


def _read(statements: list[ast.stmt]) -> set[str]:
    nodes = (node for statement in statements for node in ast.walk(statement))
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _made(statement: ast.stmt) -> set[str]:
    """Return the names that a statement assigns, also to a part such as `batch[0] = ...`."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
        targets = [statement.target]
    else:
        return set()
    return set().union(*map(_names, targets))


def _names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
