"""Which expressions are Keras optimizers, and how a file writes that one is to scale the loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.findings import Edit
from quickfit.program import Module, Program
from quickfit.program.values import Made, Value

SCALING = "keras.mixed_precision.LossScaleOptimizer"
_FAMILY = "keras.optimizers"


def is_optimizer_value(value: Value) -> bool:
    """Tell whether something is an optimizer made by Keras, scaling or not."""
    return isinstance(value, Made) and (value.maker == SCALING or is_plain(value))


def is_plain(value: Value) -> bool:
    """Tell whether something is an optimizer made by Keras that does not scale the loss."""
    if not isinstance(value, Made) or not value.maker.startswith(f"{_FAMILY}."):
        return False
    rest = value.maker.removeprefix(f"{_FAMILY}.")
    return rest == "get" or ("." not in rest and rest[:1].isupper())


def is_optimizer(program: Program, module: Module, node: ast.expr) -> bool:
    """Tell whether an expression is surely an optimizer made by Keras."""
    values = program.values(module, node)
    return bool(values) and all(is_optimizer_value(value) for value in values)


def wrapping(program: Program, made: Made) -> tuple[Edit, ...]:
    """Return the edits that make an optimizer scale the loss; none where no name is at hand."""
    module, call = made.module, made.call
    name = _scaling_name(program, module, call)
    if not name:
        return ()
    begin, end = module.begin(call), module.end(call)
    return (
        Edit(module.path, begin, begin, f"{name}("),
        Edit(module.path, end, end, ")"),
    )


def _scaling_name(program: Program, module: Module, call: ast.Call) -> str:
    """Return how a file that makes an optimizer would write `LossScaleOptimizer`."""
    maker = call.func
    family = maker.value if isinstance(maker, ast.Attribute) else None
    if isinstance(family, ast.Attribute) and program.name(module, family.value) == "keras":
        return f"{module.code(family.value)}.mixed_precision.LossScaleOptimizer"
    prefix = keras_name(module)
    if prefix:
        return f"{prefix}.mixed_precision.LossScaleOptimizer"
    if isinstance(family, ast.Name) and program.name(module, family) == _FAMILY:
        return f"{family.id}.LossScaleOptimizer"
    return ""


def keras_name(module: Module) -> str:
    """Return how a file calls Keras: `keras`, `tf.keras`; empty where it has no name for it."""
    found = ""
    for full, bound in _imported(module):
        if full in ("keras", "tensorflow.keras"):
            return bound
        if full == "tensorflow":
            found = found or f"{bound}.keras"
    return found


def _imported(module: Module) -> Iterator[tuple[str, str]]:
    """Yield the full names of what a file imports at its outermost level, and what it is called."""
    for node in module.tree.body:
        if isinstance(node, ast.Import):
            yield from ((alias.name, alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield f"{node.module}.{alias.name}", alias.asname or alias.name


def receiver(call: ast.Call) -> ast.expr | None:
    """Return the object whose method is called."""
    return call.func.value if isinstance(call.func, ast.Attribute) else None
