"""Finds differences between labels and predictions in the losses that a program writes itself."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from quickfit.findings import Effect
from quickfit.program import Module, argument, own_nodes
from quickfit.program.values import Routine
from quickfit.shapes.loss_rules import Kind, Loss, judged, library_loss
from quickfit.shapes.questions import Env, Question
from quickfit.shapes.running import arguments
from quickfit.shapes.shapes import Array, as_array
from quickfit.shapes.shaping import Shaping


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


_HAND = Loss("", Kind.STRETCHES, aligns=False)
_FUNCTIONS = ("tensorflow.math.squared_difference", "tensorflow.subtract", "keras.ops.subtract")


def taped(shaping: Shaping, module: Module) -> Iterator[Difference]:
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
        given = arguments(shaping, only, Question(shaping, module, call))
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
    effect = judged(loss, labels.sides, predictions.sides)
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
        effect = judged(_HAND, one.sides, other.sides)
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
