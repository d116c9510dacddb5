"""What a model takes in, and whether a batch of data is that."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.graph import Graph, Ref, Shape
from quickfit.errors import UsageError


@dataclass(frozen=True)
class Wanted:
    """One input of a model.

    Args:
        name: the name of its layer.
        keys: all names under which it may come in a dict.
        shape: its shape, None where a size is open.
        dtype: its dtype.
    """

    name: str
    keys: tuple[str, ...]
    shape: Shape
    dtype: str

    def fitted(self, values: Any) -> Any:
        """Return `values` as an array for this input, or None where they do not fit.

        As Keras does, an axis of size 1 at the end is added or taken away where that helps.
        """
        try:
            array = np.asarray(values)
        except (TypeError, ValueError, RuntimeError):  # ragged; a tensor of another library
            return None
        if array.ndim == len(self.shape) - 1 and self.shape[-1] == 1:
            array = array[..., None]
        elif array.ndim == len(self.shape) + 1 and array.shape[-1] == 1:
            array = array[..., 0]
        if array.ndim != len(self.shape):
            return None
        sizes = zip(array.shape[1:], self.shape[1:], strict=True)
        return self._cast(array) if all(want in (None, size) for size, want in sizes) else None

    def _cast(self, array: Any) -> Any:
        """Return the array in the dtype of the input, or None where it holds something else."""
        wanted = "object" if self.dtype == "string" else self.dtype
        if wanted == "bfloat16":
            wanted = "float32"  # NumPy has none; the model casts it itself
        try:
            return array.astype(wanted, copy=False)
        except (TypeError, ValueError):
            return None


def inputs_of(graph: Graph) -> list[Wanted]:
    """Return what a model takes in, in the order of `graph.inputs`."""
    structure = graph.input_structure
    keys = structure.items() if isinstance(structure, Mapping) else ()
    by_number = {ref.number: key for key, ref in keys if isinstance(ref, Ref)}
    return [
        Wanted(
            name,
            tuple(dict.fromkeys((by_number.get(number, name), tensor.name, name))),
            graph.shape_of(number),
            graph.dtype_of(number),
        )
        for name, number, tensor in zip(
            graph.input_names, graph.inputs, graph.model.inputs, strict=True
        )
    ]


def fitted(wanted: list[Wanted], data: Any) -> list[Any] | None:
    """Return one array per input from a batch without labels, or None where it does not fit."""
    parts = _parts(wanted, data)
    if parts is None or len(parts) != len(wanted):
        return None
    arrays = [want.fitted(part) for want, part in zip(wanted, parts, strict=True)]
    if any(array is None for array in arrays) or len({len(array) for array in arrays}) != 1:
        return None
    return arrays


def unlabelled(wanted: list[Wanted], batch: Any) -> list[Any] | None:
    """Return one array per input from a batch, with labels (which are dropped) or without."""
    if isinstance(batch, tuple | list) and batch:
        arrays = fitted(wanted, batch[0])
        return arrays if arrays is not None else fitted(wanted, batch)
    return fitted(wanted, batch)


def _parts(wanted: list[Wanted], data: Any) -> list[Any] | None:
    if isinstance(data, Mapping):
        found = [next((key for key in want.keys if key in data), None) for want in wanted]
        return None if None in found else [data[key] for key in found]
    if isinstance(data, tuple | list):
        return list(data)
    return [data] if hasattr(data, "shape") and len(data.shape) > 0 else None


def misfit(wanted: list[Wanted], batch: Any) -> UsageError:
    """Return the error that tells what came and what the model takes."""
    takes = ", ".join(f"'{want.keys[0]}' {_text(want.shape)}" for want in wanted)
    text = (
        f"The calibration data do not fit the model: it takes {takes}, and {described(batch)} came."
    )
    first = batch[0] if isinstance(batch, tuple | list) and batch else batch
    shape = getattr(first, "shape", None)
    if shape is not None and tuple(shape) == tuple(wanted[0].shape[1:]):
        text += (
            " These are single samples: put them into batches, dataset.batch(32) or array[None]."
        )
    else:
        text += " The first axis counts the samples; the labels may follow in a tuple (x, y)."
    return UsageError(text)


def described(data: Any) -> str:
    """Return what data look like, in a few words."""
    if isinstance(data, Mapping):
        return "a dict with " + ", ".join(f"'{key}' {_size(value)}" for key, value in data.items())
    if isinstance(data, tuple | list):
        kind = type(data).__name__
        return f"a {kind} of " + (", ".join(_size(value) for value in data[:4]) or "nothing")
    return _size(data)


def _size(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape is None:
        return type(value).__name__
    is_number = getattr(getattr(value, "dtype", None), "kind", "f") in "biuf"
    return _text(tuple(shape)) + ("" if is_number else f" of dtype {value.dtype}")


def _text(shape: Shape) -> str:
    return "(" + ", ".join("…" if size is None else str(size) for size in shape) + ")"
