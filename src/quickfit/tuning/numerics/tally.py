"""Counts what is not finite in a tensor, and how large the rest is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

# Tensors are `Any`: TensorFlow has no types of its own.


@dataclass(frozen=True)
class Tally:
    """The numbers of one tensor, or of several.

    Attributes:
        nan: how many are NaN.
        inf: how many are infinite, of either sign.
        size: how many there are.
        low: the smallest finite number; None where there is none.
        high: the largest finite number; None where there is none.
        dtype: the name of their type.
        first: the place of the first one that is not finite, an index for each axis.
    """

    nan: int
    inf: int
    size: int
    low: float | None
    high: float | None
    dtype: str
    first: tuple[int, ...] | None = None

    @property
    def is_finite(self) -> bool:
        """Whether every number is finite."""
        return not self.nan + self.inf

    @property
    def largest(self) -> float:
        """The largest finite number without its sign; 0 where there is none."""
        return max(abs(self.low or 0.0), abs(self.high or 0.0))

    def __str__(self) -> str:
        counts = [f"{n} {name}" for n, name in ((self.nan, "NaN"), (self.inf, "Inf")) if n]
        said = f"{' and '.join(counts)} of {self.size} {self.dtype} numbers" if counts else ""
        if said and self.first:
            said += f", the first at {list(self.first)}"
        return f"{said}; {self.range}" if said else f"{self.range} ({self.dtype})"

    @property
    def range(self) -> str:
        """From where to where the finite numbers go, as text."""
        if self.low is None or self.high is None:
            return "no finite number"
        return f"from {self.low:.4g} to {self.high:.4g}"


def tally(value: Any) -> Tally:
    """Count the numbers of a tensor; text and whole numbers are always finite."""
    import numpy as np

    numbers, dtype = _numbers(value)
    if numbers is None:
        return Tally(0, 0, 0, None, None, dtype)
    nan, inf = np.isnan(numbers), np.isinf(numbers)
    fine = numbers[~(nan | inf)]
    bad = np.argwhere(nan | inf)
    return Tally(
        nan=int(nan.sum()),
        inf=int(inf.sum()),
        size=numbers.size,
        low=float(fine.min()) + 0.0 if fine.size else None,  # without the sign of -0.0
        high=float(fine.max()) + 0.0 if fine.size else None,
        dtype=dtype,
        first=tuple(int(index) for index in bad[0]) if len(bad) else None,
    )


def is_all_finite(value: Any) -> bool:
    """Tell whether every number of an eager tensor is finite, without taking it to the host."""
    import tensorflow as tf

    values = _dense(value)
    if not (values.dtype.is_floating or values.dtype.is_complex):
        return True
    values = tf.abs(values) if values.dtype.is_complex else values
    return bool(tf.reduce_all(tf.math.is_finite(values)))


def largest_of(values: Iterable[Any]) -> float:
    """Return the largest finite number without its sign in several tensors."""
    return max((tally(value).largest for value in values), default=0.0)


def _dense(value: Any) -> Any:
    """Return the numbers of a tensor, also of those that keep them aside."""
    import tensorflow as tf

    if isinstance(value, tf.RaggedTensor):
        return value.flat_values
    if isinstance(value, tf.SparseTensor | tf.IndexedSlices):
        return value.values
    return tf.convert_to_tensor(value)


def _numbers(value: Any) -> tuple[Any, str]:
    import numpy as np
    import tensorflow as tf

    values = _dense(value)
    name = values.dtype.name
    if values.dtype.is_complex:
        values = tf.abs(values)
    if values.dtype.is_integer:
        return np.asarray(values.numpy(), dtype=np.float64), name
    if not values.dtype.is_floating:
        return None, name
    # bfloat16 is no type of NumPy's own.
    return np.asarray(tf.cast(values, tf.float64).numpy()), name
