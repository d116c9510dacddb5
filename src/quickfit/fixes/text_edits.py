"""Code of a node with other code in the place of some expressions inside it."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping, Sequence

from quickfit.fixes.change import Edit, patched
from quickfit.fixes.script import Script

# Longer lines are hard to read side by side.
WIDTH = 88


def rewritten(script: Script, node: ast.AST, codes: Mapping[ast.expr, str]) -> str:
    """Return the text of a node, as the user wrote it, with expressions replaced."""
    first = script.begin(node)
    edits = []
    for inner, code in codes.items():
        begin, end = script.begin(inner), script.end(inner)
        edits.append(Edit(script.file, _relative(begin, first), _relative(end, first), code))
    return patched(script.code(node), edits)


def call_code(name: str, given: Sequence[str], indent: str) -> str:
    """Return a call, over several lines where one would be too long."""
    line = f"{name}({', '.join(given)})"
    if len(indent) + len(line) <= WIDTH and "\n" not in line:
        return line
    rows = [textwrap.indent(f"{one},", "    ") for one in given]
    return "\n".join([f"{name}(", *rows, ")"])


def _relative(position: tuple[int, int], first: tuple[int, int]) -> tuple[int, int]:
    line = position[0] - first[0] + 1
    return line, position[1] - first[1] if line == 1 else position[1]
