"""The edit that makes a column of labels which a loss compares with a column of predictions."""

from __future__ import annotations

import ast

from quickfit.findings import Edit
from quickfit.program import Module, Program


def column(
    program: Program, module: Module, labels: ast.expr, predictions: ast.expr
) -> Edit | None:
    """Return the edit of one side of a difference; None where it could be wrong."""
    name = _uncast(program, module, labels)
    if not isinstance(name, ast.Name):
        return None
    function = module.function(name)
    args = {arg.arg for arg in function.args.args} if function is not None else set()
    if name.id not in args or not isinstance(predictions, ast.Name):
        return module.replace(name, f"{name.id}[:, None]")
    if predictions.id not in args:
        return module.replace(name, f"{name.id}[:, None]")
    # A loss may be called with other labels elsewhere: those that fit already must stay.
    alias = _alias(module)
    code = f"{alias}.reshape({name.id}, {alias}.shape({predictions.id}))"
    return module.replace(name, code) if alias else None


def _uncast(program: Program, module: Module, node: ast.expr) -> ast.expr:
    """Return what is cast to another type; the expression itself where nothing is."""
    if not isinstance(node, ast.Call) or not node.args:
        return node
    is_cast = program.called(module, node) in ("tensorflow.cast", "keras.ops.cast")
    return node.args[0] if is_cast else node


def _alias(module: Module) -> str:
    """Return how a file calls TensorFlow; empty where it does not import it."""
    names = [alias for node in module.all(ast.Import) for alias in node.names]
    return next((a.asname or a.name for a in names if a.name == "tensorflow"), "")
