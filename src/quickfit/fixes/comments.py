"""The comments that stand in a piece of code, so that none is lost with it."""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize

from quickfit.fixes.script import Script


def comments_in(script: Script, first: ast.stmt, last: ast.stmt | None = None) -> list[str]:
    """Return the comments in the lines of statements, each as a line of its own."""
    begin, end = script.begin(first)[0], script.end(last or first)[0]
    text = textwrap.dedent("\n".join(script.lines[begin - 1 : end])) + "\n"
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]
