"""A training loop in float16 does not scale its loss.

What goes wrong: in float16 nothing smaller than 6e-8 is left of a gradient. The loss is therefore
multiplied by a large number before its gradients are taken, and they are divided by it before they
reach the weights. `fit` does so by itself. A loop of one's own does not: small gradients become
zero, and layers far from the loss stop learning. A `train_step` of one's own is worse off: its
optimizer was exchanged by `compile` for one that divides by 32,768, and a loss which was never
scaled gives gradients of almost nothing. With SGD the weights stand still; Adam, which looks at
their ratio only, hides it until they are as small as its epsilon.

How it shows: the global policy is `mixed_float16`, gradients are taken on a tape, and the loss is
not scaled on the way to the optimizer that applies them.

Example:
    keras.mixed_precision.set_global_policy("mixed_float16")
    optimizer = keras.optimizers.Adam()
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

Use instead:
    keras.mixed_precision.set_global_policy("mixed_float16")
    optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam())
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(images, training=True))
        scaled_loss = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled_loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))

Fix class: repairs. The gradients become those of full precision, up to rounding.

When it is wrong: with `mixed_bfloat16`, which has the range of float32, there is nothing to scale,
and nothing is reported. A loss that the loop multiplies by hand is left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.keras_objects import SCALING, is_plain, wrapping
from quickfit.causes._shared.mixed_precision import (
    APPLIES,
    Setting,
    Step,
    float16_setting,
    is_on_its_way,
    steps,
)
from quickfit.code import Module, Program
from quickfit.code.keras_models import MODEL_BASES
from quickfit.code.syntax import is_open, keyword_value
from quickfit.code.values import Instance, Made, Member, Value
from quickfit.code.versions import uses_legacy_keras
from quickfit.findings import Change, Edit, Effect, FixClass, Spotted, Symptom

# How the new name is called.
SCALED = "scaled_loss"
_LOADED = ("keras.models.load_model", "keras.saving.load_model")
_SCALES = re.compile("(loss|grad).*scal|scal.*(loss|grad)", re.IGNORECASE)
_VARIABLES = ("trainable_variables", "trainable_weights", "trainable_vars")


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report the steps whose loss is not scaled, though it is in float16."""
    if "GradientTape" not in module.text or _speaks_of_scaling(module):
        return
    for step in steps(program, module):
        kind = _kind(program, module, step)
        setting = _setting(program, module, step) if kind else None
        if setting is None or uses_legacy_keras(program, module):
            continue
        yield Spotted(
            where=module.span(step.gradient),
            summary=_summary(module, step, kind),
            effect=Effect.WRONG,
            related=((setting.module.span(setting.call), "the policy is set here"),),
            change=_change(program, module, step),
        )


def _speaks_of_scaling(module: Module) -> bool:
    """Tell whether a file has a name for something scaled: then it scales in a way of its own."""
    names = {n.id for n in module.all(ast.Name)} | {n.attr for n in module.all(ast.Attribute)}
    return any(_SCALES.search(name) for name in names - {"LossScaleOptimizer"})


def _kind(program: Program, module: Module, step: Step) -> str:
    """Return whether the optimizer leaves the loss alone or divides by a scale; empty: unclear."""
    values = program.values(module, step.optimizer)
    if not values or not _is_of_model(module, step):
        return ""
    if all(is_plain(v) and _is_without_scale(v) for v in values):
        return "plain"
    if all(isinstance(v, Made) and v.maker == SCALING for v in values):
        return "divides"
    return "divides" if all(_is_compiled(program, module, step, v) for v in values) else ""


def _is_of_model(module: Module, step: Step) -> bool:
    return any(name in module.code(step.apply) + module.code(step.gradient) for name in _VARIABLES)


def _is_without_scale(value: Value) -> bool:
    if not isinstance(value, Made):
        return False
    return not is_open(value.call) and keyword_value(value.call, "loss_scale_factor") is None


def _is_compiled(program: Program, module: Module, step: Step, value: Value) -> bool:
    """Tell whether an optimizer is the one that `compile` gave the model whose step this is."""
    if not isinstance(value, Member) or value.name != "optimizer":
        return False
    function = module.function(step.gradient)
    is_step = isinstance(function, ast.FunctionDef) and function.name == "train_step"
    is_auto = "auto_scale_loss" not in module.text
    return is_step and is_auto and _is_model(program, value.of)


def _is_model(program: Program, value: Value) -> bool:
    return isinstance(value, Instance) and bool(program.ancestors(value) & MODEL_BASES)


def _setting(program: Program, module: Module, step: Step) -> Setting | None:
    """Return what makes the model of a step compute in float16."""
    model = _model(step)
    values = program.values(module, model) if model is not None else ()
    made = [v for v in values if isinstance(v, Made | Instance)]
    if any(isinstance(v, Made) and v.maker in _LOADED for v in made):
        return None  # it brings the policy it was saved with
    for value in made:
        if hasattr(value.call, "lineno"):
            return float16_setting(program, value.module, value.call)
    return float16_setting(program, module, step.gradient)


def _model(step: Step) -> ast.expr | None:
    for node in (*ast.walk(step.gradient), *ast.walk(step.apply)):
        if isinstance(node, ast.Attribute) and node.attr in _VARIABLES:
            return node.value
    return None


def _summary(module: Module, step: Step, kind: str) -> str:
    loss, optimizer = module.code(step.loss), module.code(step.optimizer)
    if kind == "plain":
        return f"`{loss}` is not scaled: in float16, small gradients of it become zero"
    return (
        f"`{optimizer}` divides the gradients by a scale that `{loss}` was never multiplied with:"
        " the weights move too little"
    )


# -- the change -----------------------------------------------------------------------------


def _change(program: Program, module: Module, step: Step) -> Change | None:
    """Return the edits that scale, where the loop is plain and nothing else uses the optimizer."""
    scaling = _scaling(module, step)
    optimizers = [v for v in program.values(module, step.optimizer) if is_plain(v)]
    wrapped = [wrapping(program, v) for v in optimizers if isinstance(v, Made)]
    if not scaling or not all(wrapped) or len(wrapped) > 1:
        return None
    code = module.code(step.optimizer)
    applied = [c for c in module.calls(*APPLIES) if isinstance(c.func, ast.Attribute)]
    if [module.code(c.func.value) for c in applied].count(code) != 1:  # type: ignore[attr-defined]
        return None
    return Change(
        title="Scale the loss",
        kind=FixClass.REPAIRS,
        edits=(*scaling, *(edit for edits in wrapped for edit in edits)),
    )


def _scaling(module: Module, step: Step) -> tuple[Edit, ...]:
    """Return the edits that scale the loss at the end of its block; none where it is not plain."""
    block, loss = step.tape, step.loss
    if block is None or not isinstance(loss, ast.Name) or not is_on_its_way(module, step):
        return ()
    last = block.body[-1]
    is_made = any(
        isinstance(n, ast.Name) and n.id == loss.id and isinstance(n.ctx, ast.Store)
        for statement in block.body
        for n in ast.walk(statement)
    )
    is_inside = module.is_in(step.gradient, block)
    if not is_made or is_inside or last.lineno == block.lineno or SCALED in module.text:
        return ()
    line = last.end_lineno or last.lineno
    place = (line, len(module.lines[line - 1]))
    indent = module.lines[last.lineno - 1][: module.begin(last)[1]]
    code = f"\n{indent}{SCALED} = {module.code(step.optimizer)}.scale_loss({loss.id})"
    return (Edit(module.path, place, place, code), module.replace(loss, SCALED))


CAUSE = Cause(title="A loss in float16 is not scaled", symptom=Symptom.WRONG, scan=scan)
