"""Finds losses whose labels and predictions cannot match in rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from quickfit.findings import Effect
from quickfit.program import Module, Program, argument, is_open
from quickfit.program.models import is_model_value
from quickfit.program.values import Instance, Routine, Value
from quickfit.program.versions import backend, is_guarded, uses_legacy_keras
from quickfit.shapes.labels import Fed, fed
from quickfit.shapes.loss_rules import Kind, Loss, aligned, compiled_loss, judged
from quickfit.shapes.questions import Env
from quickfit.shapes.ranks import applied
from quickfit.shapes.shapes import Array
from quickfit.shapes.shaping import Shaping
from quickfit.shapes.written_losses import Difference, differences, taped

# Methods of a model of one's own that may do something else with the labels.
_OWN = ("train_step", "compute_loss", "compile", "fit", "loss")
_LOSS_CLASSES = {"keras.Loss", "keras.losses.Loss"}
_RAISED = ("ValueError", "InvalidArgumentError")


@dataclass(frozen=True)
class Mismatch:
    """A loss whose labels and predictions do not match.

    Args:
        node: the `compile`, or the expression of a loss that the program has itself.
        module: where it stands.
        effect: what comes of it.
        loss: the loss; one without a name is written by hand.
        labels: a batch of them.
        predictions: a batch of them.
        model: what predicts.
        fit: the call that trains, and its file.
        operands: of a difference, the labels and the predictions as they are written.
        is_all: there is one model, and none of its other `fit` calls may be right as it is.
    """

    node: ast.expr
    module: Module
    effect: Effect
    loss: Loss
    labels: Array
    predictions: Array
    model: Value | None = None
    fit: tuple[Module, ast.Call] | None = None
    operands: tuple[ast.expr, ast.expr] | None = None
    is_all: bool = True


def mismatches(program: Program, module: Module) -> list[Mismatch]:
    """Return the losses of a file that cannot match, whatever is assumed of its pictures."""
    is_trained = module.calls("fit", "compile") or "GradientTape" in module.text
    if not is_trained or not _is_tensorflow(program, module):
        return []
    shaping = Shaping(program)
    found = [*compiled(shaping, module), *_written(shaping, module)]
    if not found or not shaping.is_assumed:
        return _once(found)
    grey = Shaping(program, is_grey=True)
    others = [*compiled(grey, module), *_written(grey, module)]
    certain = {(other.node, other.effect) for other in others}
    return _once([m for m in found if (m.node, m.effect) in certain])


def _is_tensorflow(program: Program, module: Module) -> bool:
    return not uses_legacy_keras(program, module) and backend(program, module) == "tensorflow"


def _once(found: list[Mismatch]) -> list[Mismatch]:
    return list({mismatch.node: mismatch for mismatch in reversed(found)}.values())[::-1]


def _written(shaping: Shaping, module: Module) -> Iterator[Mismatch]:
    for found in taped(shaping, module):
        if not is_guarded(found.module, found.node, *_RAISED):
            yield _mismatch(found, found.loss)


def _mismatch(found: Difference, loss: Loss) -> Mismatch:
    return Mismatch(
        node=found.node,
        module=found.module,
        effect=found.effect,
        loss=loss,
        labels=found.labels,
        predictions=found.predictions,
        operands=found.operands,
    )


def compiled(shaping: Shaping, module: Module) -> Iterator[Mismatch]:
    """Yield the `compile` calls of a file whose loss does not fit what `fit` is given."""
    calls = [c for c in module.calls("compile") if isinstance(c.func, ast.Attribute)]
    for call in calls:
        loss = argument(call, "loss", 1)
        if loss is None or is_open(call):
            continue
        models = _models(shaping.program, module, call)
        if not models or any(_is_own(shaping.program, model) for model in models):
            continue
        found = [list(_fitted(shaping, module, call, model)) for model in models]
        wrong = [next((m for m in each if m is not None), None) for each in found]
        # A model that is compiled twice may be trained with either loss.
        is_twice = any(_is_compiled_again(shaping.program, module, call, m) for m in models)
        if any(m is None for m in wrong) or (is_twice and any(None in each for each in found)):
            continue
        if wrong[0] is not None:
            yield replace(wrong[0], is_all=len(models) == 1 and None not in found[0])


def _models(program: Program, module: Module, call: ast.Call) -> tuple[Value, ...]:
    func = call.func
    values = program.values(module, func.value) if isinstance(func, ast.Attribute) else ()
    return values if all(is_model_value(program, value) for value in values) else ()


def _is_own(program: Program, model: Value) -> bool:
    if not isinstance(model, Instance):
        return False
    return any(program.resolver.attribute(model.made, name) for name in _OWN)


def _is_compiled_again(program: Program, module: Module, call: ast.Call, model: Value) -> bool:
    others = [c for c in module.calls("compile") if c is not call]
    return any(model in _models(program, module, other) for other in others)


def _fitted(
    shaping: Shaping, module: Module, call: ast.Call, model: Value
) -> Iterator[Mismatch | None]:
    """Yield, for each `fit` of a model, what does not match, or None."""
    for other, fit in _fits(shaping.program, module, call, model):
        found = fed(shaping, other, fit)
        if found is None:
            yield None
            continue
        made = applied(shaping, model, found.inputs)
        predictions = made if isinstance(made, Array) and made.rank >= 1 else None
        mismatch = _compared(shaping, module, call, found, predictions)
        if mismatch is None or _is_expected(other, fit, mismatch.effect):
            yield None
            continue
        yield replace(mismatch, model=model, fit=(other, fit))


def _fits(
    program: Program, module: Module, call: ast.Call, model: Value
) -> Iterator[tuple[Module, ast.Call]]:
    """Yield the `fit` calls of a model: in its file, and in those that call where it is made."""
    modules = [module]
    home = module.function(call)
    if home is not None:
        modules += [other for other, _ in program.resolver.callers(module, home)]
    for other in dict.fromkeys(modules):
        for fit in other.calls("fit", "train_on_batch"):
            if _models(program, other, fit) == (model,):
                yield other, fit


def _is_expected(module: Module, fit: ast.Call, effect: Effect) -> bool:
    """Tell whether a crash is what the text waits for."""
    if effect is not Effect.CRASHES:
        return False
    within = module.around(fit, ast.With)
    heads = [ast.unparse(item.context_expr) for item in within.items] if within else []
    return any("aises" in head for head in heads) or is_guarded(module, fit, *_RAISED)


def _compared(
    shaping: Shaping, module: Module, call: ast.Call, found: Fed, predictions: Array | None
) -> Mismatch | None:
    given = argument(call, "loss", 1)
    if predictions is None or given is None:
        return None
    loss = compiled_loss(shaping.program, module, given)
    if loss is not None:
        effect = judged(loss, found.labels.sides, predictions.sides)
        if effect is None:
            return None
        return Mismatch(call, module, effect, loss, found.labels, predictions)
    return _in_own_loss(shaping, module, given, found, predictions)


def _in_own_loss(
    shaping: Shaping, module: Module, given: ast.expr, found: Fed, predictions: Array
) -> Mismatch | None:
    """Return what does not match in a loss function or class of the program.

    Keras makes ranks alike for a function that it is given, but not for a class.
    """
    only = shaping.program.only(module, given)
    labels = found.labels.sides, predictions.sides
    shapes: tuple[tuple[int | None, ...], tuple[int | None, ...]] | None = labels
    routine = only
    if isinstance(only, Instance):
        if not shaping.program.ancestors(only) & _LOSS_CLASSES:
            return None
        methods = shaping.program.resolver.attribute(only.made, "call")
        routine = methods[0] if len(methods) == 1 else None
    else:
        shapes = aligned(*labels)
    if not isinstance(routine, Routine) or shapes is None:
        return None
    first = replace(found.labels, sides=shapes[0], is_batch=True)
    second = replace(predictions.shaped(shapes[1]), is_predicted=True)
    own = routine.node.args.args[1:] if routine.owner is not None else routine.node.args.args
    if len(own) != 2:
        return None
    env: Env = dict(zip(own, (first, second), strict=True))
    loss = Loss("", Kind.STRETCHES, aligns=not isinstance(only, Instance))
    others = differences(shaping, routine.module, routine.node, env)
    return next((_mismatch(other, loss) for other in others), None)
