"""What is said about labels and predictions that do not match, and the edit that helps."""

from __future__ import annotations

import ast

from quickfit.findings import Change, Effect, FixClass, Span, Spotted
from quickfit.program import Program, argument, keyword
from quickfit.program.values import Made
from quickfit.shapes.label_columns import column
from quickfit.shapes.layers import layers
from quickfit.shapes.mismatches import Mismatch
from quickfit.shapes.pooled_heads import is_map_for_a_number, pooled_head
from quickfit.shapes.shapes import Array, written

_INTEGER, _ONE_HOT = "sparse_categorical_crossentropy", "categorical_crossentropy"
_SAME = "Give predictions and labels the same shape"
_NOTE = "Results so far were trained on the wrong numbers."


def spotted(program: Program, mismatch: Mismatch) -> Spotted:
    """Return a mismatch as it is told."""
    return Spotted(
        where=mismatch.module.span(mismatch.node),
        summary=_summary(mismatch),
        effect=mismatch.effect,
        related=_related(program, mismatch),
        change=_change(program, mismatch),
    )


def _summary(mismatch: Mismatch) -> str:
    labels, predictions = _shown(mismatch.labels), _shown(mismatch.predictions)
    if mismatch.effect is Effect.WRONG:
        return (
            f"every label of a batch is compared with all its predictions: labels are {labels}, "
            f"predictions {predictions}"
        )
    name = f"`{mismatch.loss.name}`" if mismatch.loss.name else "this loss"
    return f"{name} cannot compare labels {labels} with predictions {predictions}"


def _shown(array: Array) -> str:
    return written(array.sides)


def _related(program: Program, mismatch: Mismatch) -> tuple[tuple[Span, str], ...]:
    found: list[tuple[Span, str]] = []
    model = mismatch.model
    if isinstance(model, Made):
        listed = layers(program, model)
        module, node = (
            (listed[-1].module, listed[-1].node) if listed else (model.module, model.call)
        )
        found.append((module.span(node), f"gives predictions {_shown(mismatch.predictions)}"))
    place = mismatch.labels.place
    if place is not None:
        found.append((place[0].span(place[1]), f"labels come from here: {_shown(mismatch.labels)}"))
    if mismatch.fit is not None:
        module, call = mismatch.fit
        found.append((module.span(call), "trains on them"))
    return tuple(found)


def _change(program: Program, mismatch: Mismatch) -> Change | None:
    labels, predictions = mismatch.labels.sides, mismatch.predictions.sides
    if not mismatch.is_all:
        return None
    if mismatch.effect is Effect.CRASHES:
        return _other_loss(mismatch)
    if mismatch.operands is not None and len(labels) == 1 and predictions[1:] == (1,):
        code = column(program, mismatch.module, *mismatch.operands)
        return Change(_SAME, FixClass.REPAIRS, (code,), _NOTE) if code is not None else None
    if not mismatch.loss.aligns or not is_map_for_a_number(labels, predictions):
        return None
    edits = pooled_head(program, mismatch.model, predictions)
    if not edits:
        return None
    return Change(
        title="Pool the map that the model predicts", kind=FixClass.REPAIRS, edits=edits, note=_NOTE
    )


def _other_loss(mismatch: Mismatch) -> Change | None:
    """Return the change to the crossentropy that is for labels like these."""
    call = mismatch.node
    loss = argument(call, "loss", 1) if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or not isinstance(loss, ast.Constant):
        return None
    labels, predictions = mismatch.labels.sides, mismatch.predictions.sides
    count = predictions[-1]
    if len(predictions) != 2 or count is None or count < 2 or not _is_plain(call):
        return None
    if loss.value == _ONE_HOT and len(labels) == 1:
        new = _INTEGER
    elif loss.value == _INTEGER and len(labels) == 2 and labels[1] == count:
        new = _ONE_HOT
    else:
        return None
    quote = mismatch.module.code(loss)[-1]
    return Change(
        title="Use the crossentropy for labels like these",
        kind=FixClass.REPAIRS,
        edits=(mismatch.module.replace(loss, f"{quote}{new}{quote}"),),
    )


def _is_plain(call: ast.Call) -> bool:
    """Tell whether no metric of a `compile` depends on the kind of its labels."""
    given = keyword(call, "metrics")
    if given is None:
        return len(call.args) <= 2
    names = given.elts if isinstance(given, ast.List | ast.Tuple) else [given]
    return all(isinstance(n, ast.Constant) and n.value in ("accuracy", "acc") for n in names)
