"""Tells whether layers are frozen or freed, or their settings changed, while a model trains."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from quickfit.fixes.bindings import dotted, is_called_in_loop, loops_around, scope_of
from quickfit.fixes.script import Function, Script

Placed = ast.expr | ast.stmt
Place = tuple[Script, Placed]
# Numbers of Python that layers, losses and optimizers read while a step is traced.
_SETTINGS = {"trainable", "rate", "stddev", "momentum", "l1", "l2", "beta_1", "beta_2", "clipnorm"}
_SETTINGS |= {"clipvalue", "global_clipnorm", "weight_decay", "label_smoothing", "activation"}


def changes_trainable(scripts: Sequence[Script], step: str) -> bool:
    """Tell whether `trainable` or the like may be set after a step was compiled.

    The step would not notice.
    """
    places = [(script, call) for script in scripts for call in calls_of(script, step)]
    return _may_be_set_after(scripts, places)


def changes_trainable_in(scripts: Sequence[Script], script: Script, loop: ast.For) -> bool:
    """Tell whether `trainable` or the like may be set in a loop or after it."""
    return _may_be_set_after(scripts, [(script, loop.body[0])])


def _may_be_set_after(scripts: Sequence[Script], places: Sequence[Place]) -> bool:
    stores = [
        (script, node)
        for script in scripts
        for node in script.all(ast.Attribute)
        if node.attr in _SETTINGS and not isinstance(node.ctx, ast.Load)
    ]
    for script, node in stores:
        scope = scope_of(script, node)
        if not isinstance(scope, Function):
            at: list[Place] = [(script, node)]
        elif any(is_called_in_loop(other, scope.name) for other in scripts):
            return True
        else:
            at = [(other, call) for other in scripts for call in calls_of(other, scope.name)]
            at.append((script, node))
        if any(_is_late(*one, *place) for one in at for place in places):
            return True
    return False


def _is_late(script: Script, node: Placed, other: Script, step: Placed) -> bool:
    """Tell whether a node stands behind a step of the same scope, or in a loop with it."""
    if script is not other or scope_of(script, node) is not scope_of(script, step):
        return False
    loops = loops_around(script, node)
    is_shared = any(loop in loops for loop in loops_around(script, step))
    return is_shared or step.lineno <= node.lineno


def calls_of(script: Script, name: str) -> Iterator[ast.Call]:
    """Yield the calls of functions and methods of a name."""
    for call in script.all(ast.Call):
        called = call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)
        if called == name:
            yield call
