"""Lays new code out as the user would have: short lines, their comments, their quotes."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable

from quickfit.causes._shared.image_pipeline.values import Line
from quickfit.code import Module
from quickfit.code.syntax import parse_code

# Lines are up to this long, the indentation of a function and of a method left aside.
WIDTH = 88


def broken(row: str) -> list[str]:
    """Return a statement that is too long for a line on several lines.

    It is broken in its outermost brackets, and a comprehension in front of its `for`.
    """
    begin = _outermost(row)
    if len(row) <= WIDTH or begin is None:
        return [row]
    inner = row[begin + 1 : -1]
    loops = _split(inner, " for ") if row[begin] == "[" else []
    if len(loops) > 1:
        rows = [loops[0], *(f"for {loop}" for loop in loops[1:])]
    elif len(inner) + 4 <= WIDTH:
        rows = [inner]
    else:
        parts = [broken(part) for part in _split(inner, ", ")]
        comma = "," if len(parts) > 1 else ""
        rows = [row for part in parts for row in (*part[:-1], part[-1] + comma)]
    return [row[: begin + 1], *(f"    {line}" for line in rows), row[-1]]


def laid_out(lines: tuple[Line, ...], module: Module) -> tuple[Line, ...]:
    """Return new lines with the quotes that the user writes most, none of them too long."""
    rows = iter(quoted("\n".join(line.text for line in lines), module).split("\n"))
    made = [
        Line("\n".join(next(rows) for _ in line.text.split("\n")), line.origin) for line in lines
    ]
    return tuple(Line(row, line.origin) for line in made for row in fitted(line.text).split("\n"))


def fitted(text: str, width: int = WIDTH) -> str:
    """Return code with the lines broken that are too long."""
    rows = []
    for row in text.split("\n"):
        indent = row[: len(row) - len(row.lstrip())]
        is_short = len(row) <= width or row.lstrip().startswith("#")
        rows += [row] if is_short else [f"{indent}{part}" for part in broken(row.lstrip())]
    return "\n".join(rows)


def _outermost(row: str) -> int | None:
    """Return where the bracket begins that ends a row."""
    pairs = {")": "(", "]": "["}
    if row[-1] not in pairs:
        return None
    depth = 0
    for at in range(len(row) - 1, -1, -1):
        depth += (row[at] in ")]}") - (row[at] in "([{")
        if depth == 0:
            return at if row[at] == pairs[row[-1]] else None
    return None


def _split(text: str, mark: str) -> list[str]:
    """Return the parts of a text between marks that stand in no brackets or quotes."""
    parts, depth, begin, at, quote = [], 0, 0, 0, ""
    while at < len(text):
        if quote:
            quote = "" if text[at] == quote else quote
        elif text[at] in "'\"":
            quote = text[at]
        depth += (text[at] in "([{") - (text[at] in ")]}") if not quote else 0
        if depth == 0 and not quote and text.startswith(mark, at):
            parts.append(text[begin:at])
            at = begin = at + len(mark)
            continue
        at += 1
    return [*parts, text[begin:]]


def quoted(text: str, module: Module) -> str:
    """Return new code with the quotes that the user writes most; texts with others in them stay."""
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    texts = [token.string for token in tokens if token.type == tokenize.STRING]
    plain = [text.lstrip("rbfuRBFU") for text in texts]
    single = sum(text.startswith("'") and not text.startswith("'''") for text in plain)
    double = sum(text.startswith('"') and not text.startswith('"""') for text in plain)
    old, new = ('"', "'") if single > double else ("'", '"')
    pattern = rf"(?<![\w{new}]){old}([^'\"\\\n]*){old}(?!{old})"
    rows = [
        row if "#" in row else re.sub(pattern, rf"{new}\1{new}", row) for row in text.split("\n")
    ]
    made = "\n".join(rows)
    try:
        is_same = _dump(made) == _dump(text)
    except SyntaxError:
        return text
    return made if is_same else text


def _dump(text: str) -> str:
    """Return the tree of code that may be the body of a function."""
    indented = "\n".join(f"    {row}" for row in text.split("\n"))
    return ast.dump(parse_code(f"def f():\n{indented}\n    pass"))


def with_comments(
    lines: tuple[Line, ...],
    module: Module,
    first_line: int,
    last_line: int,
    elsewhere: dict[int, int] | None = None,
    *,
    kept: Iterable[ast.stmt] = (),
) -> str:
    """Return the code with the user's comments at the lines that do what they are about.

    `elsewhere` tells of lines of the user what line they now belong to. `kept` are statements
    that stand in the new code as they were, with their own comments.
    """
    known = elsewhere or {}
    origins = {line.origin for line in lines} | set(known)
    waiting: dict[int, list[str]] = {}
    inside = {n for s in kept for n in range(s.lineno, s.end_lineno or 0)}
    for at, text in comments_between(module, first_line, last_line):
        if at in inside:
            continue
        place = min((o for o in origins if o >= at), default=lines[-1].origin)
        waiting.setdefault(known.get(place, place), []).append(text)
    rows: list[str] = []
    for line in lines:
        indent = line.text[: len(line.text) - len(line.text.lstrip())]
        comments = waiting.pop(line.origin, []) if line.text else []
        if line.text.startswith("def ") and rows and rows[-1]:
            rows.append("")
        rows += [f"{indent}{text}" for text in comments]
        rows.append(line.text)
    return "\n".join(rows)


def comments_between(module: Module, first_line: int, last_line: int) -> list[tuple[int, str]]:
    """Return the comments between two lines, with their lines."""
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    return [
        (token.start[0], token.string)
        for token in tokens
        if token.type == tokenize.COMMENT and first_line <= token.start[0] <= last_line
    ]
