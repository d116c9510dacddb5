"""Finds calls by their name alone, and says what a line would be with another value in it."""

from __future__ import annotations

import ast
import copy

from quickfit.source.calls import _edit, _lines, _name, call_at, parsed, with_keyword


def calls_named(text: str, *names: str) -> list[ast.Call]:
    """Return the calls of functions, methods or classes of some names, in the order of lines."""
    tree = parsed(text)
    if tree is None:
        return []
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and _name(n) in names]
    return sorted(found, key=lambda call: (call.lineno, call.col_offset))


def line_of(call: ast.Call) -> int:
    """Return the line on which the name of what is called stands."""
    return call.func.end_lineno or call.lineno


def keyword_of(call: ast.Call, name: str) -> ast.expr | None:
    """Return the value a call gives to a keyword, or None."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def whole_number(value: ast.expr | None) -> int | None:
    """Return a number that is written out, or None."""
    if isinstance(value, ast.Constant) and type(value.value) is int:
        return value.value
    return None


def fit_with_keyword(
    text: str, line: int, keyword: str, value: str, *, method: str = "fit"
) -> tuple[str, str] | None:
    """Return the last line of a call as it is and with a keyword that is given by name only.

    `fit(x, y)` has more than one argument by position, and nobody gives the late ones that way.
    """
    call = call_at(text, line, method)
    if call is None or len(call.args) > 4:
        return None
    given = copy.copy(call)
    starred: list[ast.expr] = [arg for arg in call.args if isinstance(arg, ast.Starred)]
    given.args = starred[:1]
    return with_keyword(text, given, keyword, value)


def with_value(text: str, value: ast.expr, new: str) -> tuple[str, str] | None:
    """Return the line of an argument as it is and with another value; None over several lines."""
    if value.lineno != value.end_lineno or value.end_col_offset is None:
        return None
    lines = _lines(text)
    data = lines[value.lineno - 1].encode()
    head, tail = data[: value.col_offset].decode(), data[value.end_col_offset :].decode()
    return _edit(lines, value.lineno, f"{head}{new}{tail}")
