"""Takes keywords out of a call, or gives them other names; the rest stays as it is laid out."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass

from quickfit.findings import Edit, Position
from quickfit.program import Module

_SPACE = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


@dataclass(frozen=True)
class _Part:
    """One argument as it is written; `comma` is where the comma behind it ends."""

    begin: Position
    end: Position
    comma: Position | None


def removed(module: Module, call: ast.Call, names: set[str]) -> tuple[Edit, ...]:
    """Return the edits that take keywords out of a call, with their commas.

    Lines that an argument has for itself go with it, and with the comment behind it.
    """
    parts = _parts(module, call)
    begins = {module.begin(k) for k in call.keywords if k.arg in names}
    gone = [n for n, part in enumerate(parts) if part.begin in begins]
    edits: list[Edit] = []
    for first, last in _runs(gone):
        edits.append(_without(module, parts, first, last))
    return tuple(edits)


def renamed(module: Module, call: ast.Call, name: str, other: str) -> Edit | None:
    """Return the edit that gives a keyword of a call another name."""
    for keyword in call.keywords:
        if keyword.arg == name:
            begin = module.begin(keyword)
            return Edit(module.path, begin, (begin[0], begin[1] + len(name)), other)
    return None


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Return numbers that follow each other as first and last."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _without(module: Module, parts: list[_Part], first: int, last: int) -> Edit:
    begin, end = parts[first].begin, parts[last].end
    behind = parts[last].comma or end
    if _has_lines(module, begin, behind) and parts[last].comma:
        return Edit(module.path, (begin[0], 0), (behind[0] + 1, 0), "")
    following = parts[last + 1].begin if last + 1 < len(parts) else None
    if following is not None and following[0] == behind[0]:
        return Edit(module.path, begin, following, "")
    if first > 0 and not _has_comment(module, parts[first - 1].end, begin):
        return Edit(module.path, parts[first - 1].end, end, "")
    return Edit(module.path, begin, behind, "")


def _has_lines(module: Module, begin: Position, end: Position) -> bool:
    """Tell whether a piece of text has its lines for itself, but for a comment behind it."""
    before = module.lines[begin[0] - 1][: begin[1]].strip()
    behind = module.lines[end[0] - 1][end[1] :].strip()
    return not before and (not behind or behind.startswith("#"))


def _has_comment(module: Module, begin: Position, end: Position) -> bool:
    tokens = _tokens(module)
    return any(t.type == tokenize.COMMENT and begin <= t.start < end for t in tokens)


def _parts(module: Module, call: ast.Call) -> list[_Part]:
    """Return the arguments of a call in the order of the text."""
    begin, end = module.end(call.func), module.end(call)
    inside = [t for t in _tokens(module) if begin <= t.start < end]
    inside = [t for t in inside if t.type not in (*_SPACE, tokenize.COMMENT)]
    found: list[_Part] = []
    depth, start, last = 0, None, None
    for token in inside:
        is_closing = token.string in (")", "]", "}") and token.type == tokenize.OP
        depth -= is_closing
        is_end = depth == 0 if is_closing else depth == 1 and token.string == ","
        if is_end and start is not None and last is not None:
            found.append(_Part(start, last, token.end if token.string == "," else None))
            start = None
        elif depth >= 1 and not is_end:
            start, last = start or token.start, token.end
        depth += token.type == tokenize.OP and token.string in ("(", "[", "{")
        if depth == 0:
            break
    return found


def _tokens(module: Module) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(module.text).readline))
