"""Hand-written training steps: the loss on a tape, its gradients, what applies them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.program import Module, Program, argument, name_of, own_nodes

TAPE = "tensorflow.GradientTape"
APPLIES = ("apply_gradients", "apply")


@dataclass(frozen=True)
class Step:
    """Gradients on their way.

    Args:
        tape: the block that records; None where it is not seen.
        gradient: the call that takes the gradients.
        loss: what they are of.
        apply: the call that applies them.
        optimizer: whose method that is.
    """

    tape: ast.With | None
    gradient: ast.Call
    loss: ast.expr
    apply: ast.Call
    optimizer: ast.expr


def steps(program: Program, module: Module) -> Iterator[Step]:
    """Yield the steps of a file whose gradients are taken and applied in one function."""
    for call in module.calls("gradient"):
        loss = argument(call, "target", 0)
        tape = call.func.value if isinstance(call.func, ast.Attribute) else None
        if loss is None or tape is None or program.maker(module, tape) != TAPE:
            continue
        for apply in _applying(module, call):
            if isinstance(apply.func, ast.Attribute):
                block = _block(module, call, tape)
                yield Step(block, call, loss, apply, apply.func.value)


def is_applied(module: Module, node: ast.AST) -> bool:
    """Tell whether gradients go into `apply_gradients(zip(…))` or `apply(…)`."""
    return _apply_around(module, node) is not None


def only_applied(module: Module, statement: ast.stmt, name: str) -> bool:
    """Tell whether gradients that a statement gives a name are applied, and nothing else."""
    later = _uses(module, statement, name)
    return bool(later) and all(isinstance(n.ctx, ast.Load) and is_applied(module, n) for n in later)


def is_on_its_way(module: Module, step: Step) -> bool:
    """Tell whether the gradients of a step are applied as they are, and looked at nowhere."""
    if is_applied(module, step.gradient):
        return True
    statement, name = _given_to(module, step.gradient)
    return bool(name) and only_applied(module, statement, name)


def _applying(module: Module, gradient: ast.Call) -> list[ast.Call]:
    at_once = _apply_around(module, gradient)
    if at_once is not None:
        return [at_once]
    statement, name = _given_to(module, gradient)
    if not name:
        return []
    found = [_apply_around(module, use) for use in _uses(module, statement, name)]
    return list(dict.fromkeys(call for call in found if call is not None))


def _given_to(module: Module, call: ast.Call) -> tuple[ast.stmt, str]:
    """Return the statement of a call, and the one name that it gives the result."""
    statement = module.statement(call)
    if isinstance(statement, ast.Assign) and statement.value is call:
        target = statement.targets[0]
        if len(statement.targets) == 1 and isinstance(target, ast.Name):
            return statement, target.id
    return statement, ""


def _uses(module: Module, statement: ast.stmt, name: str) -> list[ast.Name]:
    """Return where a name is used behind a statement, but for the other way of an `if`."""
    scope = module.function(statement) or module.tree
    names = [n for n in own_nodes(scope) if isinstance(n, ast.Name) and n.id == name]
    later = [n for n in names if module.begin(n) > module.end(statement)]
    return [n for n in later if not _is_other_way(module, statement, n)]


def _is_other_way(module: Module, statement: ast.stmt, node: ast.AST) -> bool:
    choice = module.parent(statement)
    if not isinstance(choice, ast.If) or statement not in choice.body:
        return False
    return any(module.is_in(node, other) for other in choice.orelse)


def _apply_around(module: Module, node: ast.AST) -> ast.Call | None:
    above = module.parent(node)
    if isinstance(above, ast.Call) and name_of(above.func) == "zip" and node in above.args:
        above = module.parent(above)
    return above if isinstance(above, ast.Call) and name_of(above.func) in APPLIES else None


def _block(module: Module, gradient: ast.Call, tape: ast.expr) -> ast.With | None:
    """Return the block that is recorded on a tape: the last one in front of its gradient."""
    scope = module.function(gradient) or module.tree
    found = None
    for node in own_nodes(scope):
        if isinstance(node, ast.With) and module.begin(node) < module.begin(gradient):
            names = [name_of(item.optional_vars) for item in node.items if item.optional_vars]
            if isinstance(tape, ast.Name) and tape.id in names:
                found = node if found is None or found.lineno < node.lineno else found
    return found
