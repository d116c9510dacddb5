"""The ends of the names under which models and weights are saved and loaded."""

from __future__ import annotations

import ast

from quickfit.code import Module, Program
from quickfit.code.syntax import is_open
from quickfit.code.values import Computed, Literal, Made, Value

# The last piece of a name, and whether it is all of it.
Ending = tuple[str, bool]


def is_refused_ending(end: Ending, endings: tuple[str, ...]) -> bool:
    """Tell whether a name surely has none of these endings, though only its end may be known."""
    text, is_whole = end
    if text.startswith("hf://"):
        return False
    is_short = not is_whole and any(ending.endswith(text) for ending in endings)
    return not is_short and not text.endswith(endings)


def ending_of(program: Program, value: Value) -> Ending | None:
    """Return the last piece of text of a name, and whether it is a whole one; None: unknown."""
    if isinstance(value, Literal):
        return (value.value, True) if isinstance(value.value, str) and value.value else None
    if isinstance(value, Computed):
        return _last_piece(program, value)
    if isinstance(value, Made) and value.maker in ("os.path.join", "pathlib.Path", "builtins.str"):
        last = value.call.args[-1] if value.call.args and not is_open(value.call) else None
        return _only_ending(program, value.module, last)
    if isinstance(value, Made) and value.method == "format" and len(value.receiver) == 1:
        end = ending_of(program, value.receiver[0])
        text = end[0].rsplit("}", 1)[-1] if end is not None else ""
        return (text, False) if text else None
    return None


def _only_ending(program: Program, module: Module, node: ast.expr | None) -> Ending | None:
    only = program.only(module, node)
    return ending_of(program, only) if only is not None else None


def _last_piece(program: Program, value: Computed) -> Ending | None:
    node = value.node
    if isinstance(node, ast.JoinedStr) and node.values:
        last = node.values[-1]
        is_text = isinstance(last, ast.Constant) and isinstance(last.value, str)
        return (str(last.value), False) if is_text and isinstance(last, ast.Constant) else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Div):
        return None
    end = _only_ending(program, value.module, node.right)
    # Behind the `/` of a path a name is whole.
    return end and (end[0], end[1] and isinstance(node.op, ast.Div))
