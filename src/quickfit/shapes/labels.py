"""What `fit` is given: the shapes of a batch of inputs and of the labels that belong to it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from quickfit.program import Module, argument, is_open, name_of
from quickfit.shapes.shapes import Array, Parts, Side, Stream, Table, Thing, as_array
from quickfit.shapes.shaping import Shaping

# How many examples `fit` takes from arrays at a time where it is not told.
USUAL_BATCH = 32


@dataclass(frozen=True)
class Fed:
    """A batch: `inputs` may be unknown, `labels` are not."""

    inputs: Thing | None
    labels: Array


def fed(shaping: Shaping, module: Module, fit: ast.Call) -> Fed | None:
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
        return Fed(inputs, _cut(found, size))
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
    return Fed(element.items[0], second) if is_batch else None


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
