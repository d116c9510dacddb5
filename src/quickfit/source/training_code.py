"""Says which lines and functions of a script run while it trains."""

from __future__ import annotations

import ast

from quickfit.source.calls import _name, parsed

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def loop_lines(text: str, line: int) -> tuple[int, int]:
    """Return first and last line of the loop that a line begins, or else the nearest around it."""
    tree = parsed(text)
    loops = [n for n in ast.walk(tree) if isinstance(n, _LOOPS)] if tree is not None else []
    around = [(n.lineno, n.end_lineno or 0) for n in loops]
    around = [(first, last) for first, last in around if first <= line <= last]
    return max(around, default=(line, line))


def functions_of_training(text: str, first: int, last: int) -> set[str]:
    """Return the functions that run while training does, as far as their names tell.

    Those called between two lines, generators, and the methods that Keras calls; and what all
    of these call in turn.
    """
    tree = parsed(text)
    if tree is None:
        return set()
    functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    found = {name for name, node in functions.items() if _is_run_by_others(node)}
    found |= {
        _name(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and first <= node.lineno <= last
    } & functions.keys()
    waiting = list(found)
    while waiting:
        calls = [n for n in ast.walk(functions[waiting.pop()]) if isinstance(n, ast.Call)]
        new = {_name(call) for call in calls} & functions.keys() - found
        found |= new
        waiting.extend(new)
    return found


def _is_run_by_others(function: ast.FunctionDef) -> bool:
    if function.name.startswith("on_") and "epoch" not in function.name:
        return "batch" in function.name
    if function.name in ("__getitem__", "__next__", "__call__", "call", "train_step"):
        return True
    return any(isinstance(node, ast.Yield) for node in ast.walk(function))
