"""Writes an argument by keyword into a call, laid out as its other arguments are."""

from __future__ import annotations

import ast

from quickfit.findings import Edit, Position
from quickfit.program.module import Module, is_open, keyword


def with_keyword(module: Module, call: ast.Call, name: str, value: str) -> Edit | None:
    """Return the edit that gives a call `name=value`; None where it may be given already."""
    given = keyword(call, name)
    if given is not None:
        return module.replace(given, value)
    parts = [*call.args, *(k.value for k in call.keywords)]
    if is_open(call) or any(module.end(part) == module.end(call) for part in parts):
        return None  # of `f(x for x in y)`, the brackets are the generator's
    line, column = module.end(call)
    if not parts:
        at = (line, column - 1)
        return Edit(module.path, at, at, f"{name}={value}")
    last = max(parts, key=module.end)
    at, has_comma = _behind(module, module.end(last), (line, column - 1))
    begin = module.lines[module.begin(last)[0] - 1]
    indent = begin[: len(begin) - len(begin.lstrip())]
    if has_comma and at[0] != line:  # one argument per line, perhaps with a comment behind it
        at = (at[0], len(module.lines[at[0] - 1]))
        return Edit(module.path, at, at, f"\n{indent}{name}={value},")
    joint = " " if has_comma else ", "
    return Edit(module.path, at, at, f"{joint}{name}={value}")


def _behind(module: Module, begin: Position, end: Position) -> tuple[Position, bool]:
    """Return the place behind an argument with its brackets and comma, and whether it has one."""
    at, has_comma = begin, False
    for number in range(begin[0], end[0] + 1):
        line = module.lines[number - 1][: end[1] if number == end[0] else None]
        first = begin[1] if number == begin[0] else 0
        # Only brackets, commas and comments stand between an argument and the end of its call.
        for column, sign in enumerate(line[first:].split("#")[0], first):
            if sign in "),":
                at, has_comma = (number, column + 1), sign == ","
    return at, has_comma
