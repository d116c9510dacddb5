"""Finds losses whose labels and predictions cannot match in rank, from the text of a program."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from quickfit.code import Module, Program
from quickfit.code.keras_models import is_model_value
from quickfit.code.shapes.calls import Env, Question, argument_shapes
from quickfit.code.shapes.layers import shape_after_model
from quickfit.code.shapes.shape import Array, Parts, Shape, Side, Stream, Table, Thing, as_array
from quickfit.code.shapes.shaping import Shaping
from quickfit.code.syntax import argument, is_open, keyword_value, name_of, own_nodes
from quickfit.code.values import External, Instance, Literal, Made, Routine, Value
from quickfit.code.versions import backend, is_version_guarded, uses_legacy_keras
from quickfit.findings import Effect

# How many examples `fit` takes from arrays at a time where it is not told.
USUAL_BATCH = 32


@dataclass(frozen=True)
class FitShapes:
    """A batch: `inputs` may be unknown, `labels` are not."""

    inputs: Thing | None
    labels: Array


def fit_shapes(shaping: Shaping, module: Module, fit: ast.Call) -> FitShapes | None:
    """Return what `fit` or `train_on_batch` trains on; None where its labels are not known."""
    if is_open(fit):
        return None
    given = shaping.of(module, argument(fit, "x", 0))
    labels = argument(fit, "y", 1)
    if labels is not None:
        found = _column(shaping.of(module, labels))
        if found is None or not found.sides:
            return None
        is_fit = name_of(fit.func) == "fit"
        size = _batch_size(shaping, module, fit) if is_fit else found.sides[0]
        inputs = _first(as_array(given), size) if isinstance(given, Array) else None
        return FitShapes(inputs, _cut(found, size))
    element = given.element if isinstance(given, Stream) else None
    if not isinstance(given, Stream) or not isinstance(element, Parts):
        return None
    if len(element.items) not in (2, 3):
        return None
    second = element.items[1]
    if not isinstance(second, Array) or not second.sides or second.is_list:
        return None
    # A dataset that nobody batches gives one example at a time, whatever sides that has.
    is_batch = second.is_batch or second.sides[0] is None or not given.is_dataset
    return FitShapes(element.items[0], second) if is_batch else None


def _column(thing: Thing | None) -> Array | None:
    """Return labels as Keras takes them: a column of pandas has a side of one."""
    if isinstance(thing, Table):
        return Array((None, 1) if thing.is_column else (None, None))
    return thing if isinstance(thing, Array) and not thing.is_list else None


def _batch_size(shaping: Shaping, module: Module, fit: ast.Call) -> Side:
    given = argument(fit, "batch_size", 2)
    if given is None:
        return USUAL_BATCH
    found = shaping.program.literal(module, given)
    return found if type(found) is int else None


def _first(array: Array | None, size: Side) -> Array | None:
    return _cut(array, size) if array is not None and array.sides else None


def _cut(array: Array, size: Side) -> Array:
    """Return the first batch of all examples."""
    known = [n for n in (array.sides[0], size) if n is not None]
    return array.shaped((min(known) if size is not None else None, *array.sides[1:]))


class LossKind(Enum):
    """What a loss does with ranks that differ."""

    STRETCHES = "stretches"
    EQUAL = "equal"
    SPARSE = "sparse"


@dataclass(frozen=True)
class Loss:
    """A loss of Keras; `aligns` says that it makes ranks alike that differ by a side of 1."""

    name: str
    kind: LossKind
    aligns: bool = True


_STRETCHING = (
    *("mean_squared_error", "mean_absolute_error", "mean_absolute_percentage_error"),
    *("mean_squared_logarithmic_error", "huber", "log_cosh", "logcosh", "hinge"),
    *("squared_hinge", "poisson", "kl_divergence", "MeanSquaredError", "MeanAbsoluteError"),
    *("MeanAbsolutePercentageError", "MeanSquaredLogarithmicError", "Huber", "LogCosh", "Hinge"),
    *("SquaredHinge", "Poisson", "KLDivergence", "mse", "MSE", "mae", "MAE", "mape", "MAPE"),
    *("msle", "MSLE", "kld", "KLD"),
)
_EQUAL = (
    *("binary_crossentropy", "categorical_crossentropy", "binary_focal_crossentropy", "bce"),
    *("BCE", "BinaryCrossentropy", "CategoricalCrossentropy", "BinaryFocalCrossentropy"),
)
_SPARSE = ("sparse_categorical_crossentropy", "SparseCategoricalCrossentropy")
_KINDS = {
    **dict.fromkeys(_STRETCHING, LossKind.STRETCHES),
    **dict.fromkeys(_EQUAL, LossKind.EQUAL),
    **dict.fromkeys(_SPARSE, LossKind.SPARSE),
}
# Functions that do not make the ranks alike themselves when a program calls them.
_BARE = ("hinge", "squared_hinge", "poisson", "kl_divergence", *_EQUAL)


def compiled_loss(program: Program, module: Module, node: ast.expr) -> Loss | None:
    """Return the loss that is given to `compile`; None for another or an unknown one."""
    only = program.only(module, node)
    if isinstance(only, Literal) and isinstance(only.value, str):
        kind = _KINDS.get(only.value)
        return Loss(only.value, kind) if kind is not None else None
    return library_loss(only, is_called=False) if only is not None else None


def library_loss(value: Value, *, is_called: bool) -> Loss | None:
    """Return the loss of Keras that something is.

    `is_called` says that the program calls it by itself: functions are then used as they are.
    """
    if isinstance(value, Made):
        name = value.maker.removeprefix("keras.losses.")
        is_plain = not any(keyword_value(value.call, k) for k in ("axis", "ignore_class"))
        kind = _KINDS.get(name) if is_plain and name[:1].isupper() else None
        is_ours = kind is not None and value.maker.startswith("keras.losses.")
        return Loss(name, kind) if is_ours and kind is not None else None
    if not isinstance(value, External) or not value.name.startswith("keras.losses."):
        return None
    name = value.name.removeprefix("keras.losses.")
    kind = _KINDS.get(name) if not name[:1].isupper() or name.isupper() else None
    return Loss(name, kind, not is_called or name not in _BARE) if kind is not None else None


def judge_loss(loss: Loss, labels: Shape, predictions: Shape) -> Effect | None:
    """Return what a loss does to shapes that do not match in rank; None: nothing for certain.

    Both shapes begin with the batch, in which there may be any number of examples.
    """
    batch = labels[0] if labels[0] is not None else predictions[0]
    shapes = ((batch, *labels[1:]), (batch, *predictions[1:]))
    found = align_ranks(*shapes) if loss.aligns else shapes
    if found is None:
        return None
    labels, predictions = found
    if loss.kind is LossKind.SPARSE:
        return _sparse(labels, predictions)
    if len(labels) == len(predictions):
        return None
    if loss.kind is LossKind.EQUAL:
        return Effect.CRASHES
    return stretched_effect(labels, predictions)


def align_ranks(labels: Shape, predictions: Shape) -> tuple[Shape, Shape] | None:
    """Return both shapes as Keras makes them alike; None where a side that decides is open."""
    if abs(len(labels) - len(predictions)) != 1:
        return labels, predictions
    longer = max(labels, predictions, key=len)
    if longer[-1] is None:
        return None
    if longer[-1] != 1:
        return labels, predictions
    if longer is labels:
        is_list = len(predictions) == 1
        return (labels, (*predictions, 1)) if is_list else (labels[:-1], predictions)
    is_list = len(labels) == 1
    return ((*labels, 1), predictions) if is_list else (labels, predictions[:-1])


def _sparse(labels: Shape, predictions: Shape) -> Effect | None:
    if len(labels) == len(predictions):
        if labels[-1] is None:
            return None
        labels = labels[:-1] if labels[-1] == 1 else labels
    return Effect.CRASHES if len(labels) != len(predictions) - 1 else None


def stretched_effect(labels: Shape, predictions: Shape) -> Effect | None:
    """Return what arithmetic between shapes of different rank does."""
    shorter, longer = sorted((labels, predictions), key=len)
    pairs = list(zip(reversed(shorter), reversed(longer), strict=False))
    # The first side of the shorter one is the batch, against some other side of the longer one.
    batch, other = pairs[-1]
    if batch == 1:
        return None
    if any(_differ(a, b) for a, b in pairs):
        return Effect.CRASHES
    if other == 1:
        return Effect.WRONG
    is_open = any(None in pair and 1 not in pair for pair in pairs)
    return None if is_open else Effect.WRONG


def _differ(one: Side, other: Side) -> bool:
    return one is not None and other is not None and 1 not in (one, other) and one != other


@dataclass(frozen=True)
class Difference:
    """A loss, or a difference in one, whose sides do not match in rank.

    Args:
        node: the expression.
        module: where it stands.
        loss: the loss of Keras that it is; one without a name where it is written by hand.
        effect: what comes of it.
        labels: the shape of one side.
        predictions: the shape of the other.
        operands: of a difference, the labels and the predictions as they are written.
    """

    node: ast.expr
    module: Module
    loss: Loss
    effect: Effect
    labels: Array
    predictions: Array
    operands: tuple[ast.expr, ast.expr] | None = None


_HAND = Loss("", LossKind.STRETCHES, aligns=False)
_FUNCTIONS = ("tensorflow.math.squared_difference", "tensorflow.subtract", "keras.ops.subtract")


def taped_differences(shaping: Shaping, module: Module) -> Iterator[Difference]:
    """Yield what does not match in the losses that are computed under a gradient tape."""
    for node in module.all(ast.With):
        heads = [ast.unparse(item.context_expr) for item in node.items]
        if not any("GradientTape" in head for head in heads):
            continue
        inside = [n for statement in node.body for n in ast.walk(statement)]
        yield from _differences(shaping, module, inside, {})
        for call in (n for n in inside if isinstance(n, ast.Call)):
            yield from _called(shaping, module, call)


def _called(shaping: Shaping, module: Module, call: ast.Call) -> Iterator[Difference]:
    """Yield what does not match in a loss that is called: one of Keras, or of the program."""
    only = shaping.program.only(module, call.func)
    if isinstance(only, Routine):
        given = argument_shapes(shaping, only, Question(shaping, module, call))
        yield from differences(shaping, only.module, only.node, given)
        return
    loss = library_loss(only, is_called=True) if only is not None else None
    if loss is None:
        return
    nodes = argument(call, "y_true", 0), argument(call, "y_pred", 1)
    labels, predictions = (as_array(shaping.of(module, n)) for n in nodes)
    if labels is None or predictions is None or not labels.sides or not predictions.sides:
        return
    if not predictions.is_predicted or labels.is_predicted:
        return
    effect = judge_loss(loss, labels.sides, predictions.sides)
    if effect is not None:
        yield Difference(call, module, loss, effect, labels, predictions)


def differences(shaping: Shaping, module: Module, home: ast.AST, env: Env) -> Iterator[Difference]:
    """Yield the differences in a function whose sides do not match in rank."""
    nodes = ast.walk(home.body) if isinstance(home, ast.Lambda) else own_nodes(home)
    return _differences(shaping, module, nodes, env)


def _differences(
    shaping: Shaping, module: Module, nodes: Iterable[ast.AST], env: Env
) -> Iterator[Difference]:
    for node in nodes:
        operands = _operands(shaping, module, node)
        if operands is None:
            continue
        one, other = (as_array(shaping.of(module, n, env)) for n in operands)
        if one is None or other is None or not one.sides or not other.sides:
            continue
        if one.is_predicted == other.is_predicted:
            continue
        if one.is_predicted:
            one, other, operands = other, one, operands[::-1]
        if not _are_of_one_batch(one, other) or not isinstance(node, ast.expr):
            continue
        effect = judge_loss(_HAND, one.sides, other.sides)
        if effect is not None:
            yield Difference(node, module, _HAND, effect, one, other, operands)


def _are_of_one_batch(labels: Array, predictions: Array) -> bool:
    """Tell whether the first sides are the same examples: not some row of numbers."""
    return labels.is_batch or labels.sides[0] == predictions.sides[0] is not None


def _operands(shaping: Shaping, module: Module, node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return node.left, node.right
    if isinstance(node, ast.Call) and len(node.args) == 2:
        name = shaping.program.called(module, node)
        return (node.args[0], node.args[1]) if name in _FUNCTIONS else None
    return None


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
    found = [*compiled_mismatches(shaping, module), *_written(shaping, module)]
    if not found or not shaping.is_assumed:
        return _once(found)
    grey = Shaping(program, is_grey=True)
    others = [*compiled_mismatches(grey, module), *_written(grey, module)]
    certain = {(other.node, other.effect) for other in others}
    return _once([m for m in found if (m.node, m.effect) in certain])


def _is_tensorflow(program: Program, module: Module) -> bool:
    return not uses_legacy_keras(program, module) and backend(program, module) == "tensorflow"


def _once(found: list[Mismatch]) -> list[Mismatch]:
    return list({mismatch.node: mismatch for mismatch in reversed(found)}.values())[::-1]


def _written(shaping: Shaping, module: Module) -> Iterator[Mismatch]:
    for found in taped_differences(shaping, module):
        if not is_version_guarded(found.module, found.node, *_RAISED):
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


def compiled_mismatches(shaping: Shaping, module: Module) -> Iterator[Mismatch]:
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
        found = fit_shapes(shaping, other, fit)
        if found is None:
            yield None
            continue
        made = shape_after_model(shaping, model, found.inputs)
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
    return any("aises" in head for head in heads) or is_version_guarded(module, fit, *_RAISED)


def _compared(
    shaping: Shaping, module: Module, call: ast.Call, found: FitShapes, predictions: Array | None
) -> Mismatch | None:
    given = argument(call, "loss", 1)
    if predictions is None or given is None:
        return None
    loss = compiled_loss(shaping.program, module, given)
    if loss is not None:
        effect = judge_loss(loss, found.labels.sides, predictions.sides)
        if effect is None:
            return None
        return Mismatch(call, module, effect, loss, found.labels, predictions)
    return _in_own_loss(shaping, module, given, found, predictions)


def _in_own_loss(
    shaping: Shaping, module: Module, given: ast.expr, found: FitShapes, predictions: Array
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
        shapes = align_ranks(*labels)
    if not isinstance(routine, Routine) or shapes is None:
        return None
    first = replace(found.labels, sides=shapes[0], is_batch=True)
    second = replace(predictions.shaped(shapes[1]), is_predicted=True)
    own = routine.node.args.args[1:] if routine.owner is not None else routine.node.args.args
    if len(own) != 2:
        return None
    env: Env = dict(zip(own, (first, second), strict=True))
    loss = Loss("", LossKind.STRETCHES, aligns=not isinstance(only, Instance))
    others = differences(shaping, routine.module, routine.node, env)
    return next((_mismatch(other, loss) for other in others), None)
