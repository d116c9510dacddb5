"""Sees every operation and layer while a model is called, and counts what is not finite.

TensorFlow tells of each operation as it runs. That makes it many times slower, so it is used in a
replay only. The replay runs to its end: a loop that is broken off leaves complaints of
TensorFlow's about what it never used.
"""

from __future__ import annotations

import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Tensors are `Any`: TensorFlow has no types of its own.

_OURS = str(Path(__file__).parent)
_LIBRARIES = (_OURS, "/site-packages/", "/dist-packages/", sysconfig.get_path("stdlib"))
# What comes after the first output of these is room for the way back, with anything in it.
_ONE_OUTPUT = "FusedBatchNorm"
# These return memory that nobody has written to yet.
_UNWRITTEN = ("Empty", "EmptyTensorList")


@dataclass(frozen=True)
class OpSighting:
    """An operation that returned numbers that are not finite.

    Attributes:
        op: as TensorFlow calls it.
        place: the line that asked for it; None where it is inside a library.
        is_passed_on: what went in was not finite either.
        is_negative: all that it returned and is not finite is -Inf.
    """

    op: str
    place: str | None
    is_passed_on: bool
    is_negative: bool


class OpWitness:
    """Sees every operation, and remembers the first that matter.

    Attributes:
        first: returned something that is not finite.
        first_nan: returned NaN though none went in.
    """

    def __init__(self) -> None:
        self.first: OpSighting | None = None
        self.first_nan: OpSighting | None = None

    @property
    def is_written(self) -> bool:
        """Whether the first infinities are constants of the code, and no operation made them."""
        return self.first is not None and self.first.is_passed_on

    def see(self, kind: Any, given: Any, returned: Any) -> None:
        """Look at one operation."""
        if self.first_nan is not None:
            return  # what comes later came of it, or came too late
        op = kind.decode() if isinstance(kind, bytes) else str(kind)
        if op in _UNWRITTEN:
            return
        bad = _bad_numbers(returned[:1] if op.startswith(_ONE_OUTPUT) else returned)
        if not len(bad):
            return
        before = _bad_numbers(given)
        sighting = OpSighting(op, _user_line(), bool(len(before)), bool((bad < 0).all()))
        if self.first is None:
            self.first = sighting
        if _has_nan(bad) and not _has_nan(before):
            self.first_nan = sighting


def watch_ops(run: Callable[[], object]) -> OpWitness:
    """Run something eagerly, and return what was seen."""
    witness = OpWitness()
    with _report_operations(witness):
        run()
    return witness


def first_bad_op(run: Callable[[], object]) -> tuple[str | None, str | None]:
    """Run something and return the first operation that was not finite, and the line it is from.

    Either is None where it is not known.
    """
    first = watch_ops(run).first
    return (first.op, first.place) if first else (None, None)


@contextmanager
def without_numeric_check() -> Iterator[None]:
    """Turn TensorFlow's check off for a while, where the user has turned it on."""
    import tensorflow as tf

    callback = _users_check()
    if callback is None:
        yield
        return
    tf.debugging.disable_check_numerics()
    try:
        yield
    finally:
        tf.debugging.enable_check_numerics()


@contextmanager
def _report_operations(witness: OpWitness) -> Iterator[None]:
    # What TensorFlow's own check of numbers is built on (2.21); it has no public name.
    from tensorflow.python.framework import op_callbacks

    def hear(kind: Any, inputs: Any, attrs: Any, outputs: Any, *_: Any, **__: Any) -> None:
        witness.see(kind, inputs, outputs)

    op_callbacks.add_op_callback(hear)
    try:
        yield
    finally:
        op_callbacks.remove_op_callback(hear)


def _users_check() -> Any:  # an object of TensorFlow, or None
    from tensorflow.python.debug.lib import check_numerics_callback

    state = getattr(check_numerics_callback, "_state", None)
    return getattr(state, "check_numerics_callback", None)


def _bad_numbers(tensors: Any) -> Any:
    """Return the numbers of eager tensors that are not finite, as one array."""
    import numpy as np

    found = [np.zeros(0)]
    for one in tensors:
        dtype = getattr(one, "dtype", None)
        if hasattr(one, "numpy") and dtype is not None and (dtype.is_floating or dtype.is_complex):
            # bfloat16 is no type of NumPy's own.
            numbers = np.asarray(one.numpy()).astype("complex128" if dtype.is_complex else float)
            numbers = np.abs(numbers) if dtype.is_complex else numbers
            found.append(numbers[~np.isfinite(numbers)])
    return np.concatenate(found)


def _has_nan(numbers: Any) -> bool:
    import numpy as np

    return bool(np.isnan(numbers).any())


def _user_line() -> str | None:
    """Return the innermost line of the stack that is not in a library."""
    for frame, line in traceback.walk_stack(None):  # the innermost comes first
        if frame.f_code is watch_ops.__code__:
            return None  # further out is who asked for the replay
        name = frame.f_code.co_filename
        if not any(part in name for part in _LIBRARIES):
            return f"{Path(name).name}:{line}"
    return None


# Layers and tensors are `Any`: TensorFlow and Keras have no types of their own.


@dataclass(frozen=True, eq=False)  # tensors are not compared as a whole
class LayerCall:
    """One call of a layer, or of an operation in the graph of a functional model.

    Attributes:
        layer: what was called.
        path: its name, with the names of the models and layers around it.
        args: as it was called.
        kwargs: as it was called.
        result: what it returned.
    """

    layer: Any
    path: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any

    @property
    def inputs(self) -> list[Any]:
        """The tensors that went in."""
        return eager_tensors([self.args, self.kwargs])

    @property
    def outputs(self) -> list[Any]:
        """The tensors that came out."""
        return eager_tensors(self.result)


@contextmanager
def listen_to_layers(hear: Callable[[LayerCall], None]) -> Iterator[None]:
    """Call `hear` after each layer that is called in this thread.

    Models are layers too; the first call is the model's own, and its name is left out of paths.
    """
    import keras

    owner, names = threading.get_ident(), list[str]()
    layer_call, operation_call = keras.Layer.__call__, keras.Operation.__call__

    def heard(original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        if threading.get_ident() != owner:
            return original(self, *args, **kwargs)
        names.append(self.name)
        path = "/".join(names[1:]) or self.name
        try:
            result = original(self, *args, **kwargs)
        finally:
            names.pop()
        hear(LayerCall(self, path, args, kwargs, result))
        return result

    def call_layer(self: Any, *args: Any, **kwargs: Any) -> Any:
        return heard(layer_call, self, args, kwargs)

    def call_operation(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, keras.Layer):  # on its way from `call_layer`
            return operation_call(self, *args, **kwargs)
        return heard(operation_call, self, args, kwargs)

    keras.Layer.__call__, keras.Operation.__call__ = call_layer, call_operation
    try:
        yield
    finally:
        keras.Layer.__call__, keras.Operation.__call__ = layer_call, operation_call


def eager_tensors(structure: Any) -> list[Any]:
    """Return the eager tensors in a nested structure."""
    import tensorflow as tf

    leaves = tf.nest.flatten(structure, expand_composites=True)
    return [one for one in leaves if isinstance(one, tf.Tensor) and hasattr(one, "numpy")]


# Tensors are `Any`: TensorFlow has no types of its own.


@dataclass(frozen=True)
class NumberTally:
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


def tally_numbers(value: Any) -> NumberTally:
    """Count the numbers of a tensor; text and whole numbers are always finite."""
    import numpy as np

    numbers, dtype = _as_numbers(value)
    if numbers is None:
        return NumberTally(0, 0, 0, None, None, dtype)
    nan, inf = np.isnan(numbers), np.isinf(numbers)
    fine = numbers[~(nan | inf)]
    bad = np.argwhere(nan | inf)
    return NumberTally(
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

    values = _dense_values(value)
    if not (values.dtype.is_floating or values.dtype.is_complex):
        return True
    values = tf.abs(values) if values.dtype.is_complex else values
    return bool(tf.reduce_all(tf.math.is_finite(values)))


def largest_of(values: Iterable[Any]) -> float:
    """Return the largest finite number without its sign in several tensors."""
    return max((tally_numbers(value).largest for value in values), default=0.0)


def _dense_values(value: Any) -> Any:
    """Return the numbers of a tensor, also of those that keep them aside."""
    import tensorflow as tf

    if isinstance(value, tf.RaggedTensor):
        return value.flat_values
    if isinstance(value, tf.SparseTensor | tf.IndexedSlices):
        return value.values
    return tf.convert_to_tensor(value)


def _as_numbers(value: Any) -> tuple[Any, str]:
    import numpy as np
    import tensorflow as tf

    values = _dense_values(value)
    name = values.dtype.name
    if values.dtype.is_complex:
        values = tf.abs(values)
    if values.dtype.is_integer:
        return np.asarray(values.numpy(), dtype=np.float64), name
    if not values.dtype.is_floating:
        return None, name
    # bfloat16 is no type of NumPy's own.
    return np.asarray(tf.cast(values, tf.float64).numpy()), name


def named_leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield everything in a value with the expression that reaches it: `x['image']`, `y[1]`."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from named_leaves(f"{name}[{key!r}]", one)
    elif isinstance(value, (list, tuple)):
        for index, one in enumerate(value):
            yield from named_leaves(f"{name}[{index}]", one)
    elif value is not None:
        yield name, value
