"""A compiled function counts in Python, which happens once.

What goes wrong: `@tf.function` runs the Python code of a function while it is traced, once for each
kind of arguments; what is run in every step is the graph. `self.step += 1` on a Python number is
not part of the graph: the number stays at 1, and what depends on it never changes.

How it shows: an attribute that the class begins as a plain number, or a `global` one, is counted up
in a function with `@tf.function`.

Example:
    @tf.function
    def train_step(self, x):
        self.step += 1

Use instead:
    @tf.function
    def train_step(self, x):
        self.step.assign_add(1)

Fix class: show-only. The number has to be a `tf.Variable` from the beginning.

When it is wrong: where traces are what is to be counted. Names with `trace` are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.code import Module, Program
from quickfit.code.syntax import Def, own_nodes
from quickfit.code.values import Class, Literal, Values
from quickfit.findings import Effect, Spotted, Symptom

_FUNCTION = "tensorflow.function"


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report numbers of Python that a compiled function counts up."""
    if "function" not in module.text or "run_functions_eagerly" in module.text:
        return
    for node in module.all(ast.AugAssign):
        function = module.function(node)
        if not isinstance(function, Def) or not _is_compiled(program, module, function):
            continue
        values = _before(program, module, node, function)
        numbers = [v for v in values if isinstance(v, Literal) and type(v.value) in (int, float)]
        code = module.code(node.target)
        if values and len(numbers) == len(values) and "trac" not in code.lower():
            yield Spotted(
                module.span(node),
                f"`{code}` is a number of Python: it changes once, while the function is traced",
                Effect.WRONG,
            )


def _is_compiled(program: Program, module: Module, function: Def) -> bool:
    for decorator in function.decorator_list:
        made = decorator.func if isinstance(decorator, ast.Call) else decorator
        if program.name(module, made) == _FUNCTION:
            return True
    return False


def _before(program: Program, module: Module, node: ast.AugAssign, function: Def) -> Values:
    """Return what is counted up began as; nothing where that is not certain."""
    target, owner = node.target, module.parent(function)
    if isinstance(target, ast.Attribute) and isinstance(owner, ast.ClassDef):
        if not isinstance(target.value, ast.Name) or target.value.id != "self":
            return ()
        return program.resolver.attribute(Class(owner, module), target.attr)
    if not isinstance(target, ast.Name):
        return ()
    if not any(isinstance(n, ast.Global) and target.id in n.names for n in own_nodes(function)):
        return ()
    bound = program.files.bindings(module).all(module.tree, target.id)
    values = [b.value for b in bound if b.kind == "value" and not b.path]
    others = [b for b in bound if b.kind != "value" and b.node is not node]
    if others or not values:
        return ()
    return tuple(v for value in values for v in program.values(module, value))


CAUSE = Cause(title="A compiled function counts in Python", symptom=Symptom.WRONG, scan=scan)
