"""Moves a `batch` before a `map` in the text of a script, where both are written plainly."""

from __future__ import annotations

import ast
import itertools

from quickfit.source.calls import call_at, parsed


def batch_before_map(text: str, map_line: int) -> tuple[str, str] | None:
    """Return the lines of `.map(...)` and the `.batch(...)` after it, as they are and swapped.

    Either both stand in one line, one right after the other, or in two statements that follow
    each other and give the dataset the same name again. None for everything else.
    """
    call = call_at(text, map_line, "map")
    tree = parsed(text)
    if call is None or tree is None or call.lineno != call.end_lineno:
        return None
    lines = text.split("\n")
    batch = _batch_of(tree, call)
    if batch is not None and batch.end_lineno == map_line and _is_ascii(lines[map_line - 1]):
        line = lines[map_line - 1]
        return _edited(lines, map_line, map_line, [_swapped(line, call, batch)])
    return _in_two_statements(tree, lines, call)


def _in_two_statements(
    tree: ast.Module, lines: list[str], call: ast.Call
) -> tuple[str, str] | None:
    for block in _blocks(tree):
        for first, second in itertools.pairwise(block):
            if not _is_assigned(first, call) or second.lineno != call.lineno + 1:
                continue
            batch = _first_call(second)
            name = _target(first)
            if batch is None or name is None or _target(second) != name or not _is_on(batch, name):
                return None
            before, after = lines[call.lineno - 1], lines[second.lineno - 1]
            if batch.end_lineno != second.lineno or not _is_ascii(before + after):
                return None
            mapped, batched = _argument_text(before, call), _argument_text(after, batch)
            swapped = [
                _with_argument_text(before, call, batched),
                _with_argument_text(after, batch, mapped),
            ]
            return _edited(lines, call.lineno, second.lineno, swapped)
    return None


def _batch_of(tree: ast.Module, call: ast.Call) -> ast.Call | None:
    """Return the call of `batch` on what a call returns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "batch" and node.func.value is call:
                return node
            same = isinstance(node.func.value, ast.Call) and _same(node.func.value, call)
            if node.func.attr == "batch" and same:
                return node
    return None


def _same(one: ast.Call, other: ast.Call) -> bool:
    return (one.lineno, one.col_offset, one.end_col_offset) == (
        other.lineno,
        other.col_offset,
        other.end_col_offset,
    )


def _swapped(line: str, call: ast.Call, batch: ast.Call) -> str:
    """Return a line with `.map(...)` and the `.batch(...)` behind it the other way round."""
    assert isinstance(call.func, ast.Attribute)
    start, middle, end = call.func.value.end_col_offset, call.end_col_offset, batch.end_col_offset
    return line[:start] + line[middle:end] + line[start:middle] + line[end:]


def _argument_text(line: str, call: ast.Call) -> str:
    """Return `.name(...)` of a method call."""
    assert isinstance(call.func, ast.Attribute)
    return line[call.func.value.end_col_offset : call.end_col_offset]


def _with_argument_text(line: str, call: ast.Call, text: str) -> str:
    assert isinstance(call.func, ast.Attribute)
    return line[: call.func.value.end_col_offset] + text + line[call.end_col_offset :]


def _blocks(tree: ast.Module) -> list[list[ast.stmt]]:
    found = []
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                found.append(block)
    return found


def _is_assigned(statement: ast.stmt, call: ast.Call) -> bool:
    """Tell whether a statement gives a name to what a call returns, and to nothing more."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Call) and _same(value, call)


def _target(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        return target.id if isinstance(target, ast.Name) else None
    return None


def _first_call(statement: ast.stmt) -> ast.Call | None:
    """Return the innermost call of a chain such as `ds.batch(32).prefetch(1)`."""
    node = statement.value if isinstance(statement, ast.Assign) else None
    found = None
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        found, node = node, node.func.value
    return found


def _is_on(call: ast.Call, name: str) -> bool:
    """Tell whether a call is `name.batch(...)`."""
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "batch"
        and isinstance(function.value, ast.Name)
        and function.value.id == name
    )


def _is_ascii(line: str) -> bool:
    return line.isascii()  # columns count bytes


def _edited(lines: list[str], first: int, last: int, new: list[str]) -> tuple[str, str] | None:
    if parsed("\n".join([*lines[: first - 1], *new, *lines[last:]])) is None:
        return None
    old = lines[first - 1 : last]
    return "\n".join(line.strip() for line in old), "\n".join(line.strip() for line in new)
