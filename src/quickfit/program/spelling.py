"""The full name of something of a library, as the imports of a file write it.

`Program.name` gives the usual name, for which `tf.keras` and `keras` are one. Here they are two:
each has names that the other does not have.
"""

from __future__ import annotations

import ast

from quickfit.program import Module, Program
from quickfit.program.bindings import Binding

MAX_DEPTH = 6
_SAME = (
    ("tensorflow.compat.v2.", "tensorflow."),
    ("keras.api.", "keras."),
    *(
        (f"tensorflow.{part}.", f"tensorflow.keras.{part}.")
        for part in ("losses", "metrics", "optimizers", "initializers")
    ),
)


def spelled(program: Program, module: Module, node: ast.expr, depth: int = 0) -> str:
    """Return the full name of what an expression surely is in a library; else empty."""
    if isinstance(node, ast.Attribute):
        base = spelled(program, module, node.value, depth)
        return usual(f"{base}.{node.attr}") if base else ""
    if not isinstance(node, ast.Name) or depth > MAX_DEPTH:
        return ""
    bindings = program.files.bindings(module).reaching(node, node.id)
    found = {_bound(program, module, binding, depth) for binding in bindings}
    return found.pop() if len(found) == 1 else ""


def usual(name: str) -> str:
    """Return a full name without the ways around that mean nothing."""
    for long, short in _SAME:
        if name.startswith(long):
            return short + name.removeprefix(long)
    return name


def _bound(program: Program, module: Module, binding: Binding, depth: int) -> str:
    if binding.kind == "value" and binding.value is not None and not binding.path:
        return spelled(program, module, binding.value, depth + 1)
    if binding.kind not in ("import", "from") or binding.module.startswith("."):
        return ""
    if program.files.imported(module.path, binding.module) is not None:
        return ""  # a file of the program by that name
    full = binding.module if binding.kind == "import" else f"{binding.module}.{binding.name}"
    return usual(full)


def respelled(program: Program, module: Module, node: ast.expr, name: str) -> str:
    """Return how a file would write a full name in the place of an expression; else empty.

    What the two names begin with alike stays as it is written: `tf` of `tf.log`.
    """
    part = node
    while isinstance(part, ast.Attribute):
        part = part.value
        base = spelled(program, module, part)
        if base and name.startswith(f"{base}."):
            return f"{module.code(part)}.{name.removeprefix(f'{base}.')}"
    return ""
