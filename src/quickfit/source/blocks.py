"""Blocks around a line: which loops it is in, and which locks a `with` holds there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from quickfit.source.calls import parsed

Loop = ast.For | ast.AsyncFor | ast.While
# What a condition asks that is true in the script and false in a worker that imports it.
_GUARDS = {"__name__", "parent_process", "current_process"}


def held_names(text: str, line: int) -> set[str]:
    """Return the last parts of what the `with` blocks around a line hold: `self._lock` is `_lock`.

    What was acquired by hand before it in the same function counts too.
    """
    tree = parsed(text)
    if tree is None:
        return set()
    names: set[str] = set()
    for node in _around(tree, line):
        if isinstance(node, ast.With | ast.AsyncWith) and line > node.lineno:
            names |= {_last(item.context_expr) for item in node.items}
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            names |= _acquired(node, line)
    return names - {""}


def _acquired(scope: ast.AST, line: int) -> set[str]:
    """Return what was acquired above a line and not released in between."""
    taken: set[str] = set()
    calls = [n for n in ast.walk(scope) if isinstance(n, ast.Call) and n.lineno < line]
    for call in sorted(calls, key=lambda one: one.lineno):
        if not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr == "acquire":
            taken.add(_last(call.func.value))
        elif call.func.attr == "release":
            taken.discard(_last(call.func.value))
    return taken


def lines_taking(text: str, name: str) -> list[int]:
    """Return the lines that take a lock of that name."""
    tree = parsed(text)
    found: set[int] = set()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.With | ast.AsyncWith):
            found |= {node.lineno for item in node.items if _last(item.context_expr) == name}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            takes = node.func.attr == "acquire" and _last(node.func.value) == name
            found |= {node.lineno} if takes else set()
    return sorted(found)


def line_above(text: str, line: int, pattern: str, *, most: int) -> int | None:
    """Return the nearest line, at or above one, that a pattern is found in."""
    lines = text.split("\n")
    for number in range(line, max(line - most, 0), -1):
        if number <= len(lines) and re.search(pattern, lines[number - 1]):
            return number
    return None


def loop_inside(text: str, line: int) -> int | None:
    """Return the line of the first loop in the body of the loop that begins at a line."""
    tree = parsed(text)
    loops = [n for n in ast.walk(tree) if isinstance(n, Loop)] if tree is not None else []
    outer = next((loop for loop in loops if loop.lineno == line), None)
    inner = [s for s in outer.body if isinstance(s, Loop)] if outer is not None else []
    return inner[0].lineno if inner else None


def is_loop_header(text: str, line: int) -> bool:
    """Tell whether a line begins a loop."""
    tree = parsed(text)
    return tree is not None and any(
        isinstance(node, Loop) and node.lineno == line for node in ast.walk(tree)
    )


def loop_around(text: str, line: int) -> Loop | None:
    """Return the innermost loop whose body a line is in."""
    tree = parsed(text)
    if tree is None:
        return None
    loops = [n for n in _around(tree, line) if isinstance(n, Loop) and line > n.lineno]
    return loops[-1] if loops else None


def loop_without_yield(text: str, line: int) -> bool:
    """Tell whether a line is in a loop that gives nothing, by itself or around it."""
    loop = loop_around(text, line)
    return loop is not None and not any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(loop)
    )


def is_in_generator(text: str, line: int) -> bool:
    """Tell whether a line is inside a function that yields."""
    tree = parsed(text)
    functions = [
        node
        for node in (_around(tree, line) if tree is not None else ())
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return bool(functions) and any(
        isinstance(node, ast.Yield | ast.YieldFrom)
        for statement in functions[-1].body
        for node in _own(statement)
    )


def is_guarded(text: str, line: int) -> bool:
    """Tell whether a line runs only in the script's own process, as by `__name__ == "__main__"`."""
    tree = parsed(text)
    guards = [n for n in _around(tree, line) if isinstance(n, ast.If)] if tree is not None else []
    return any(_GUARDS & _names(guard.test) for guard in guards)


def _names(expression: ast.expr) -> set[str]:
    found = [node for node in ast.walk(expression) if isinstance(node, ast.Name | ast.Attribute)]
    return {node.id if isinstance(node, ast.Name) else node.attr for node in found}


def is_endless(text: str, line: int) -> bool:
    """Tell whether a generator function never ends: all it does is in a `while True`.

    Args:
        text: the file.
        line: where the function begins, or any line inside it.
    """
    tree = parsed(text)
    if tree is None:
        return False
    functions = [
        node
        for node in _around(tree, line)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    if not functions:
        return False
    endless = [s for s in functions[-1].body if isinstance(s, ast.While) and _is_true(s.test)]
    return any(_gives(loop) and not _leaves(loop) for loop in endless)


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _gives(loop: ast.While) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own(loop))


def _leaves(loop: ast.While) -> bool:
    """Tell whether a loop can be left by its own text; an exception may always end it."""
    inner = {
        node
        for other in _own(loop)
        if isinstance(other, Loop) and other is not loop
        for node in ast.walk(other)
    }
    return any(
        isinstance(node, ast.Return | ast.Raise)
        or (isinstance(node, ast.Break) and node not in inner)
        for node in _own(loop)
    )


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is below a node, but not what is inside functions that it defines."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _own(child)


def _around(tree: ast.AST, line: int) -> list[ast.AST]:
    """Return the nodes around a line, from the outside."""
    found: list[ast.AST] = [tree]
    for node in ast.walk(tree):
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if first is not None and last is not None and first <= line <= last:
            found.append(node)
    # From the outermost: those that begin first and end last.
    return [found[0], *sorted(found[1:], key=_span)]


def _span(node: ast.AST) -> tuple[int, int]:
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    return first, -last


def _last(expression: ast.expr) -> str:
    if isinstance(expression, ast.Call):
        return _last(expression.func)
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""
