"""Finds the `GradientTape` that a gradient is asked of, and the function that a step is."""

from __future__ import annotations

import ast

from quickfit.source.calls import parsed

Function = ast.FunctionDef | ast.AsyncFunctionDef
# In a compiled function these would run once, while it is traced, or fail.
_PYTHON_ONLY = ("numpy", "item", "print", "float", "int", "bool", "append")


def tape_line(text: str, line: int) -> int | None:
    """Return the line of the `with tf.GradientTape()` that a line asks for gradients, or None."""
    tree = parsed(text)
    if tree is None:
        return None
    scope = _innermost(tree, line)
    inside = [n for n in ast.walk(scope) if isinstance(n, ast.With | ast.AsyncWith)]
    asked = {
        node.func.value.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Call)
        and node.lineno <= line <= (node.end_lineno or 0)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
    }
    before = [n for n in inside if n.lineno <= line and any(_is_tape(i, asked) for i in n.items)]
    return max((node.lineno for node in before), default=None)


def tape_blocks(text: str) -> tuple[tuple[int, int], ...]:
    """Return the first and last line of every block that a `GradientTape` records."""
    tree = parsed(text)
    found = [n for n in ast.walk(tree) if isinstance(n, ast.With)] if tree is not None else []
    return tuple(
        (node.body[0].lineno, node.end_lineno or node.lineno)
        for node in found
        if any(_is_tape(item, set()) for item in node.items)
    )


def function_around(text: str, line: int) -> Function | None:
    """Return the innermost function that a line is part of, or None at the top of a file."""
    tree = parsed(text)
    return innermost_function(tree, line) if tree is not None else None


def innermost_function(tree: ast.Module, line: int) -> Function | None:
    """Return the innermost function of a file that a line is part of, or None."""
    scope = _innermost(tree, line)
    return scope if isinstance(scope, Function) else None


def is_a_step(function: Function, line: int) -> bool:
    """Tell whether a function is one step and can be compiled as it is.

    Not so where the line stands in a loop of the function: then the function is the whole
    training. Nor where it has decorators already, yields, or takes values out of tensors.
    """
    if is_in_loop(function, line):
        return False
    yields = any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(function))
    return not function.decorator_list and not yields and not python_only(function)


def is_in_loop(function: Function, line: int) -> bool:
    """Tell whether a line stands in a loop of a function."""
    loops = [n for n in ast.walk(function) if isinstance(n, ast.For | ast.While)]
    return any(node.lineno <= line <= (node.end_lineno or 0) for node in loops)


def python_only(*code: ast.AST) -> list[str]:
    """Return the calls in some code that need values, not tensors, such as `float`."""
    nodes = [node for each in code for node in ast.walk(each)]
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    return sorted({name for call in calls if (name := _needs_value(call))})


def _needs_value(call: ast.expr) -> str:
    """Return the name of what is called, if it cannot be part of a graph; else nothing."""
    if not isinstance(call, ast.Attribute):
        name = getattr(call, "id", "")
        return name if name in _PYTHON_ONLY else ""
    owner = getattr(call.value, "id", "")
    is_environment = call.attr in ("step", "reset") and "env" in owner.lower()
    if owner in ("np", "numpy") or is_environment:
        return f"{owner}.{call.attr}"
    # `tf.print` and its like are operations.
    return call.attr if call.attr in _PYTHON_ONLY and owner not in ("tf", "tensorflow") else ""


def _innermost(tree: ast.Module, line: int) -> ast.Module | Function:
    """Return the function, or the module, that holds a line."""
    functions = [n for n in ast.walk(tree) if isinstance(n, Function)]
    around = [n for n in functions if n.lineno <= line <= (n.end_lineno or 0)]
    return max(around, key=lambda node: node.lineno, default=tree)


def _is_tape(item: ast.withitem, asked: set[str]) -> bool:
    """Tell whether a `with` makes a tape, under whatever name that was imported."""
    call, name = item.context_expr, item.optional_vars
    if not isinstance(call, ast.Call):
        return False
    made = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return made == "GradientTape" or (isinstance(name, ast.Name) and name.id in asked)
