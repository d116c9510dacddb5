"""Turns numbers into those of a tensor in a `.tflite` file, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.errors import UsageError

# Arrays are `Any`: they may hold numbers of every type.


@dataclass(frozen=True)
class Slot:
    """An input or output of a file.

    Args:
        name: as the file's signature has it.
        index: of the tensor.
        shape: with -1 for a size that is free.
        dtype: of the numbers in the tensor.
        scale: what one step of an integer stands for; 0 where the numbers are as they are.
        zero: the integer that stands for 0.
    """

    name: str
    index: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    scale: float
    zero: int

    @property
    def is_quantised(self) -> bool:
        """Whether its integers stand for real numbers."""
        return self.scale > 0 and self.dtype.kind in "iu"


def slot_of(name: str, details: dict[str, Any]) -> Slot:
    """Return an input or output from what the interpreter tells of it."""
    scale, zero = details["quantization"]
    shape = details["shape_signature"] if len(details["shape_signature"]) else details["shape"]
    sizes = tuple(int(size) for size in shape)
    return Slot(name, details["index"], sizes, np.dtype(details["dtype"]), float(scale), int(zero))


def as_tensor(values: Any, slot: Slot) -> Any:
    """Return values as the tensor wants them; an array of the tensor's own type stays as it is.

    Raises:
        UsageError: they are no numbers, or do not fit into the tensor's type.
    """
    array = np.asarray(values)
    if array.dtype == slot.dtype:
        return array
    if array.dtype.kind not in "fiub":
        # NumPy does not count bfloat16 as a number; everything else here is text or objects.
        array = _numbers(array, slot)
    if slot.is_quantised:
        return _quantised(array, slot)
    if slot.dtype.kind in "iu":
        _check_whole(array, slot)
    return array.astype(slot.dtype)


def as_values(array: Any, slot: Slot) -> Any:
    """Return what a tensor stands for: real numbers where it holds steps of a scale."""
    if not slot.is_quantised:
        return array
    return (array.astype(np.float32) - slot.zero) * np.float32(slot.scale)


def _numbers(array: Any, slot: Slot) -> Any:
    if array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    raise UsageError(
        f"Input {slot.name!r} was given values of the type {array.dtype}, which are no numbers. "
        f"It takes {slot.dtype} of the shape {shape_text(slot.shape)}."
    )


def _quantised(array: Any, slot: Slot) -> Any:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise UsageError(
            f"Input {slot.name!r} was given NaN or infinity. It takes {slot.dtype}, which has "
            f"neither: look for them in the data."
        )
    steps = np.round(array / np.float32(slot.scale)) + slot.zero
    limits = np.iinfo(slot.dtype)
    return np.clip(steps, limits.min, limits.max).astype(slot.dtype)


def _check_whole(array: Any, slot: Slot) -> None:
    """Refuse numbers that would become others."""
    limits = np.iinfo(slot.dtype)
    is_whole = array.dtype.kind != "f" or bool((array == np.floor(array)).all())
    fits = not array.size or (array.min() >= limits.min and array.max() <= limits.max)
    if not (is_whole and fits):
        raise UsageError(
            f"Input {slot.name!r} takes whole numbers ({slot.dtype}), and was given {array.dtype} "
            f"from {array.min()} to {array.max()}. Give the numbers that the Keras model takes."
        )


def check_shape(shape: tuple[int, ...], slot: Slot) -> None:
    """Refuse a batch whose sizes are not those of an input; the first one may be any.

    Raises:
        UsageError: with the shape received, the one wanted, and what may be missing.
    """
    fits = len(shape) == len(slot.shape) and all(
        wanted in (-1, size) for size, wanted in zip(shape[1:], slot.shape[1:], strict=True)
    )
    if fits and 0 not in shape:
        return
    what = f"Input {slot.name!r} has the shape {shape_text(shape)}"
    wanted = shape_text((-1, *slot.shape[1:]) if slot.shape else ())
    hint = ""
    if len(shape) == len(slot.shape) - 1:
        hint = " The axis of the batch is missing: x[None] adds it to one sample."
    elif fits:
        hint = " There is nothing in it."
    raise UsageError(f"{what}; the model takes {wanted}.{hint}")


def shape_text(shape: tuple[int, ...]) -> str:
    """Return a shape as people read it: `(any, 28, 28, 1)`."""
    sizes = ["any" if size == -1 else str(size) for size in shape]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
