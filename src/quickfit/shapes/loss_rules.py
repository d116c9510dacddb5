"""How the losses of Keras 3 compare labels with predictions of another rank.

The rules are those of `keras/src/losses` and of its TensorFlow backend. A `Loss` of Keras first
makes the ranks alike, if they differ by one and the last side of the longer shape is 1. Then:

- losses computed by arithmetic (`mse`, `mae`, `huber` and others) broadcast what still differs,
- `binary_crossentropy` and `categorical_crossentropy` raise a ValueError,
- `sparse_categorical_crossentropy` wants labels of one rank less, and raises one otherwise.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum

from quickfit.findings import Effect
from quickfit.program import Module, Program, keyword
from quickfit.program.values import External, Literal, Made, Value
from quickfit.shapes.shapes import Shape, Side


class Kind(Enum):
    """What a loss does with ranks that differ."""

    STRETCHES = "stretches"
    EQUAL = "equal"
    SPARSE = "sparse"


@dataclass(frozen=True)
class Loss:
    """A loss of Keras; `aligns` says that it makes ranks alike that differ by a side of 1."""

    name: str
    kind: Kind
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
    **dict.fromkeys(_STRETCHING, Kind.STRETCHES),
    **dict.fromkeys(_EQUAL, Kind.EQUAL),
    **dict.fromkeys(_SPARSE, Kind.SPARSE),
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
        is_plain = not any(keyword(value.call, k) for k in ("axis", "ignore_class"))
        kind = _KINDS.get(name) if is_plain and name[:1].isupper() else None
        is_ours = kind is not None and value.maker.startswith("keras.losses.")
        return Loss(name, kind) if is_ours and kind is not None else None
    if not isinstance(value, External) or not value.name.startswith("keras.losses."):
        return None
    name = value.name.removeprefix("keras.losses.")
    kind = _KINDS.get(name) if not name[:1].isupper() or name.isupper() else None
    return Loss(name, kind, not is_called or name not in _BARE) if kind is not None else None


def judged(loss: Loss, labels: Shape, predictions: Shape) -> Effect | None:
    """Return what a loss does to shapes that do not match in rank; None: nothing for certain.

    Both shapes begin with the batch, in which there may be any number of examples.
    """
    batch = labels[0] if labels[0] is not None else predictions[0]
    shapes = ((batch, *labels[1:]), (batch, *predictions[1:]))
    found = aligned(*shapes) if loss.aligns else shapes
    if found is None:
        return None
    labels, predictions = found
    if loss.kind is Kind.SPARSE:
        return _sparse(labels, predictions)
    if len(labels) == len(predictions):
        return None
    if loss.kind is Kind.EQUAL:
        return Effect.CRASHES
    return stretched_effect(labels, predictions)


def aligned(labels: Shape, predictions: Shape) -> tuple[Shape, Shape] | None:
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
