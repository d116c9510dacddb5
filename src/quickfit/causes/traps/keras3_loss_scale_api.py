"""The loss is scaled with methods that optimizers of Keras 3 do not have.

What goes wrong: Keras 2 scaled with `optimizer.get_scaled_loss(loss)` and undid it with
`optimizer.get_unscaled_gradients(gradients)`. In Keras 3 no optimizer has them, and the first call
ends the script with an AttributeError. There, `optimizer.scale_loss(loss)` scales, and the
`LossScaleOptimizer` divides by the scale itself when it applies the gradients. Only `compile` makes
one by itself; a training loop of one's own has to.

How it shows: a call of `get_scaled_loss` or `get_unscaled_gradients` on an optimizer.

Example:
    optimizer = keras.optimizers.Adam()
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(images, training=True))
        scaled = optimizer.get_scaled_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    gradients = optimizer.get_unscaled_gradients(gradients)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

Use instead:
    optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam())
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(images, training=True))
        scaled = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

Fix class: repairs. The gradients that reach the weights are those that Keras 2 applied.

When it is wrong: under Keras 2, which `tf_keras` and TF_USE_LEGACY_KERAS bring; where the program
shows one of them, nothing is reported. Gradients that are clipped between the two calls would be
clipped while they are scaled: there is no edit then. Give the optimizer `global_clipnorm` or
`clipnorm` instead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.keras_objects import (
    SCALING,
    is_optimizer_value,
    is_plain,
    wrapping,
)
from quickfit.causes._shared.mixed_precision import float16_setting, is_applied, only_applied
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import argument, name_of, receiver_of
from quickfit.code.values import Instance, Made, Routine, Value
from quickfit.code.versions import is_version_guarded, uses_legacy_keras
from quickfit.findings import Change, Edit, Effect, FixClass, Spotted, Symptom

SCALE, UNSCALE = "get_scaled_loss", "get_unscaled_gradients"
_LIBRARIES = ("keras", "tensorflow")


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report every call of the two methods that are gone."""
    calls = [call for call in module.calls(SCALE, UNSCALE) if _is_gone(program, module, call)]
    if not calls or uses_legacy_keras(program, module):
        return
    for call in calls:
        beside = [c for c in calls if module.function(c) is module.function(call)]
        name, owner = name_of(call.func), receiver_of(call)
        assert owner is not None
        yield Spotted(
            where=module.span(call),
            summary=f"`{module.code(owner)}.{name}` is gone in Keras 3: an AttributeError",
            effect=Effect.CRASHES,
            change=_change(program, module, beside),
        )


def _is_gone(program: Program, module: Module, call: ast.Call) -> bool:
    owner = receiver_of(call)
    if owner is None or is_version_guarded(module, call, "AttributeError"):
        return False
    if not any(library in module.text for library in _LIBRARIES):
        return False
    methods = program.values(module, call.func)
    if any(isinstance(value, Routine) for value in methods):
        return False  # a method of the program's own
    return all(_may_be_of_keras(value) for value in program.values(module, owner))


def _may_be_of_keras(value: Value) -> bool:
    """Tell whether something is an optimizer of Keras, or nobody says what else it is."""
    if isinstance(value, Instance):
        return False
    return is_optimizer_value(value) or not (isinstance(value, Made) and value.maker)


def _change(program: Program, module: Module, calls: list[ast.Call]) -> Change | None:
    """Return the edits for all the calls of one step."""
    edits: list[Edit] = []
    for call in calls:
        new = _scaled(module, call) if name_of(call.func) == SCALE else _unscaled(module, call)
        if new is None:
            return None
        edits.append(new)
    wrapped = _wrapped(program, module, calls)
    if wrapped is None:
        return None
    return Change(
        title="Scale the loss in the way of Keras 3",
        kind=FixClass.REPAIRS,
        edits=tuple(dict.fromkeys((*edits, *wrapped))),
        note="A LossScaleOptimizer of Keras 3 divides by the scale when it applies gradients.",
    )


def _wrapped(program: Program, module: Module, calls: list[ast.Call]) -> list[Edit] | None:
    """Return the edits that let the optimizers scale; None where it cannot be written."""
    owners = [owner for owner in map(receiver_of, calls) if owner is not None]
    values = dict.fromkeys(v for owner in owners for v in program.values(module, owner))
    if any(isinstance(v, Made) and v.maker == SCALING for v in values):
        return []  # a plain one is inside of it, or meant to be
    found: list[Edit] = []
    for value in (v for v in values if is_plain(v)):
        assert isinstance(value, Made)
        if float16_setting(program, module, calls[0]) is None:
            continue
        edits = wrapping(program, value)
        if not edits:
            return None
        found += edits
    return found


def _scaled(module: Module, call: ast.Call) -> Edit:
    end = module.end(call.func)
    return Edit(module.path, (end[0], end[1] - len(SCALE)), end, "scale_loss")


def _unscaled(module: Module, call: ast.Call) -> Edit | None:
    """Return the edit that leaves the gradients scaled, where they go to the optimizer only."""
    given = argument(call, "grads", 0)
    statement = module.statement(call)
    if given is None:
        return None
    if is_applied(module, call):
        return module.replace(call, module.code(given))
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return None
    target = statement.targets[0]
    if len(statement.targets) > 1 or not isinstance(target, ast.Name):
        return None
    if not only_applied(module, statement, target.id):
        return None
    if isinstance(given, ast.Name) and given.id == target.id:
        return _without(module, statement)
    return module.replace(call, module.code(given))


def _without(module: Module, statement: ast.stmt) -> Edit | None:
    """Return the edit that takes a statement away, where it has its lines for itself."""
    begin, end = module.begin(statement), module.end(statement)
    before = module.lines[begin[0] - 1][: begin[1]]
    behind = module.lines[end[0] - 1][end[1] :].strip()
    if before.strip() or (behind and not behind.startswith("#")):
        return None
    if _is_only_one(module, statement):
        return Edit(module.path, begin, end, "pass")
    return Edit(module.path, (begin[0], 0), (end[0] + 1, 0), "")


def _is_only_one(module: Module, statement: ast.stmt) -> bool:
    """Tell whether a block has no other statement."""
    above = module.parent(statement)
    return any(getattr(above, field, None) == [statement] for field in ("body", "orelse"))


CAUSE = Cause(
    title="The loss is scaled with methods that are gone", symptom=Symptom.CRASH, scan=scan
)
