"""Labels of every form as numbers of classes, and whether they fit what a model gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.graph import Graph
from quickfit.errors import UsageError

# Arrays are `Any`: labels of any type.

_EVALUATE = (
    "Give a function of your own that says how good a model is: evaluate=score, or on the command"
    " line --evaluate train.py:score."
)


@dataclass(frozen=True)
class Classes:
    """The right answers, by class.

    Args:
        codes: whole numbers; one per sample, or one per pixel of it.
        count: of classes that the model tells apart.
        is_single: whether the model gives one number, which is large for class 1.
    """

    codes: Any
    count: int
    is_single: bool = False

    def at(self, places: Any) -> Classes:
        """Return the answers for some samples."""
        return Classes(self.codes[places], self.count, self.is_single)


def classes_of(
    graph: Graph, labels: Any, *, names: Sequence[str] = (), where: str = "data"
) -> Classes:
    """Read labels.

    Args:
        graph: of the model.
        labels: numbers of classes, one-hot vectors, or names.
        names: of the classes of a folder or a pack.
        where: how messages name the data.

    Raises:
        UsageError: they are no classes, or others than the model has outputs for.
    """
    if len(graph.outputs) != 1:
        raise UsageError(
            f"The model has {len(graph.outputs)} outputs ({', '.join(graph.output_names)}), so that"
            f" nobody knows how good it is from labels alone. {_EVALUATE}"
        )
    shape = graph.shape_of(graph.outputs[0])
    outputs = shape[-1] if len(shape) > 1 else 1
    if outputs is None:
        raise UsageError(f"The model's output has no fixed size: {shape}. {_EVALUATE}")
    count = max(2, outputs)
    _check_names(names, count, where)
    codes = _codes(np.asarray(labels), shape, count, where)
    _check_shape(codes, shape, outputs, where)
    _check_range(codes, count, where)
    return Classes(codes, count, outputs == 1)


def _codes(labels: Any, shape: tuple[int | None, ...], count: int, where: str) -> Any:
    if labels.dtype.kind in "USO":
        return _named(labels, count, where)
    if labels.dtype.kind not in "biuf":
        raise UsageError(f"{where}: labels of type {labels.dtype} are no classes. {_EVALUATE}")
    if labels.ndim == len(shape) and labels.shape[-1] == count and count > 1:
        return _from_vectors(labels, where)
    if labels.ndim == len(shape) and labels.shape[-1] == 1:
        labels = labels[..., 0]
    odd = _odd(labels) if labels.dtype.kind == "f" else None
    if odd is not None:
        raise UsageError(
            f"{where}: its labels are numbers such as {odd:.4g}, no classes. {_EVALUATE}"
        )
    return labels.astype(np.int64)


def _odd(labels: Any) -> float | None:
    """Return a label that is no whole number, if there is one."""
    found = labels[~np.isfinite(labels) | (labels != np.round(labels))]
    return float(found[0]) if len(found) else None


def _named(labels: Any, count: int, where: str) -> Any:
    try:
        names, codes = np.unique(labels.astype(str), return_inverse=True)
    except (TypeError, ValueError, UnicodeError) as error:
        raise UsageError(f"{where}: its labels are neither numbers nor names.") from error
    _check_names([str(name) for name in names], count, where)
    return codes.reshape(labels.shape).astype(np.int64)


def _from_vectors(labels: Any, where: str) -> Any:
    if not np.isfinite(labels).all() or (np.abs(labels.sum(axis=-1) - 1) > 1e-3).any():
        raise UsageError(
            f"{where}: its labels are vectors that do not add up to 1: a sample has several"
            f" classes, or none. {_EVALUATE}"
        )
    return labels.argmax(axis=-1).astype(np.int64)


def _check_names(names: Sequence[str], count: int, where: str) -> None:
    if names and len(names) != count:
        shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
        raise UsageError(
            f"{where}: it has {len(names)} classes ({shown}), and the model tells {count} apart.\n"
            "Give the data that the model was made for: all of its classes, and no others."
        )


def _check_shape(codes: Any, shape: tuple[int | None, ...], outputs: int, where: str) -> None:
    wanted = shape[:-1] if len(shape) > 1 else shape
    fits = codes.ndim == len(wanted) and all(
        want in (None, size) for size, want in zip(codes.shape[1:], wanted[1:], strict=True)
    )
    if not fits:
        each = "one number" if outputs == 1 else f"{outputs} numbers"
        raise UsageError(
            f"{where}: labels of the shape {codes.shape} do not fit a model that gives {each} for"
            f" each sample (its output: {tuple(shape)}). One class each is needed."
        )


def _check_range(codes: Any, count: int, where: str) -> None:
    low, high = int(codes.min()), int(codes.max())
    if low >= 0 and high < count:
        return
    hint = " They seem to begin at 1: subtract 1." if low == 1 and high == count else ""
    raise UsageError(
        f"{where}: its labels go from {low} to {high}, and the model tells {count} classes apart,"
        f" which are 0 to {count - 1}.{hint}"
    )
