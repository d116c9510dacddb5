"""Finds the statement of a loop in a text."""

from __future__ import annotations

import ast

from quickfit.source.calls import parsed


def loop_line(text: str, line: int) -> int:
    """Return the line of the `while` that a line is the test or the first line of.

    Bytecode tells where a `for` stands, but of a `while` only where its first instruction does.
    Where no loop is found, it is the line itself.
    """
    tree = parsed(text)
    nodes = list(ast.walk(tree)) if tree is not None else []
    if any(
        isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) and _line(node) == line
        for node in nodes
    ):
        return line
    whiles = [node for node in nodes if isinstance(node, ast.While)]
    around = [node for node in whiles if node.lineno <= line <= node.body[0].lineno]
    return max((node.lineno for node in around), default=line)


def _line(node: ast.For | ast.AsyncFor | ast.comprehension) -> int:
    return node.iter.lineno if isinstance(node, ast.comprehension) else node.lineno
