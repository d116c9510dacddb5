"""Comments that silence findings: `# quickfit: ignore[cause]` and `# quickfit: ignore-file`."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field

from quickfit.causes import catalogue
from quickfit.checking.choice import near_names, normal
from quickfit.findings import Span

# A cheap look before the text is taken apart: most files have no such comment.
_HINT = re.compile(r"#.*quickfit\s*:", re.IGNORECASE)
_COMMENT = re.compile(
    r"#\s*quickfit\s*:\s*(?P<word>[\w-]*)\s*(?P<list>\[(?P<causes>[^\]]*)\])?", re.IGNORECASE
)
# What may stand in front of the first statement; the text is that of the module's docstring.
_BEFORE_CODE = frozenset(
    (tokenize.ENCODING, tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.STRING)
)
EVERYTHING = "*"


@dataclass
class Ignores:
    """What the comments of one text silence.

    Args:
        of_file: causes that are silent in the whole text.
        of_lines: causes that are silent at a line.
        notes: what is wrong with the comments, with the line.
    """

    of_file: set[str] = field(default_factory=set)
    of_lines: dict[int, set[str]] = field(default_factory=dict)
    notes: list[tuple[int, str]] = field(default_factory=list)

    def silences(self, cause: str, lines: set[int]) -> bool:
        """Tell whether a cause is silent at one of some lines."""
        silent = self.of_file.union(*(self.of_lines.get(line, ()) for line in lines))
        return cause in silent or EVERYTHING in silent


def ignores_of(text: str) -> Ignores:
    """Return what the comments in a Python text silence; strings are no comments."""
    found = Ignores()
    if not _HINT.search(text):
        return found
    for comment, line, is_early in _comments(text):
        for match in _COMMENT.finditer(comment):
            _add(found, match, line, is_early=is_early)
    return found


def _comments(text: str) -> Iterator[tuple[str, int, bool]]:
    """Yield each comment with its line, and whether no statement stands before it."""
    is_early = True
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            is_early = is_early and token.type in _BEFORE_CODE
            if token.type == tokenize.COMMENT:
                yield token.string, token.start[0], is_early
    except (tokenize.TokenError, SyntaxError):  # the parser has reported it
        return


def _add(found: Ignores, match: re.Match[str], line: int, *, is_early: bool) -> None:
    word = match["word"].lower()
    if word not in ("ignore", "ignore-file"):
        found.notes.append((line, f"`{match[0]}` is not known; write `# quickfit: ignore[cause]`"))
        return
    causes = set(_causes(found, match, line)) if match["list"] else {EVERYTHING}
    if word == "ignore":
        found.of_lines.setdefault(line, set()).update(causes)
    elif is_early:
        found.of_file.update(causes)
    else:
        found.notes.append((line, "`ignore-file` counts only above the first statement"))


def _causes(found: Ignores, match: re.Match[str], line: int) -> Iterator[str]:
    given = [word.strip() for word in match["causes"].split(",") if word.strip()]
    if not given:
        found.notes.append((line, f"`{match[0]}` names no cause, so it silences nothing"))
    for word in given:
        if normal(word) in catalogue():
            yield normal(word)
            continue
        near = near_names(word)
        guess = f" (did you mean {' or '.join(near)}?)" if near else ""
        found.notes.append((line, f"`{word}` in `{match[0]}` is not the name of a cause{guess}"))


def lines_of(where: Span, tree: ast.Module) -> set[int]:
    """Return the lines at which a comment silences a finding: its own, and its statement's ends."""
    lines = {where.line, where.end_line or where.line}
    statement = _statement(tree, where.line)
    if statement is not None:
        lines |= {statement.lineno, _last_line(statement)}
    return lines


def _statement(tree: ast.Module, line: int) -> ast.stmt | None:
    """Return the innermost statement that a line is part of."""
    found: ast.stmt | None = None
    waiting: list[ast.AST] = list(tree.body)
    for node in waiting:
        if isinstance(node, ast.expr):
            continue
        begin, end = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if isinstance(node, ast.stmt) and not begin <= line <= end:
            continue
        found = node if isinstance(node, ast.stmt) else found
        waiting.extend(ast.iter_child_nodes(node))
    return found


def _last_line(statement: ast.stmt) -> int:
    """Return the line that a statement ends on; of one with a body, the line its head ends on."""
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return max(statement.lineno, int(body[0].lineno) - 1)
    return statement.end_lineno or statement.lineno
