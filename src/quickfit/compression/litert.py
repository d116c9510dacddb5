"""Runs a `.tflite` file: arrays in, arrays out, whatever types and batch size the file has."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quickfit.compression.quantizing.arrays import as_tensor, as_values, check_shape
from quickfit.compression.quantizing.loading import (
    allocate,
    content_of,
    runnable,
    slots_of,
)
from quickfit.compression.quantizing.naming import plain
from quickfit.compression.quantizing.operators import op_counts
from quickfit.errors import ModelError, UsageError

# Arrays are `Any`: they hold numbers of every type.

_PLAIN = (
    "XNNPACK, LiteRT's fast way, refuses this file, so it runs here without, and more slowly. An"
    " app has to turn XNNPACK off for it."
)


class Runner:
    """Run a model that was exported to LiteRT.

        run = Runner("digits.tflite")
        probabilities = run(images)

    Inputs go in as the Keras model takes them: numbers of any type, any batch size, several inputs
    as a dict by name. Where the file works in integers, numbers are turned into them by the
    tensor's own scale, and back. An array that has the integer type of the input already is taken
    as it is. Not for several threads at once: each needs a runner of its own.

    Args:
        model: the file, or its content.
        threads: the runtime may use.
        inputs: names of the inputs in the order in which a list of them is given. The file keeps
            no order; what `exported` returns knows it.

    Raises:
        ModelError: it is no such file, it is damaged, or the runtime is missing or cannot run it.
    """

    def __init__(
        self, model: str | Path | bytes, *, threads: int = 1, inputs: Sequence[str] | None = None
    ) -> None:
        if threads < 1:
            raise UsageError(f"threads={threads}: it takes a number from 1.")
        self._label = "these bytes" if isinstance(model, bytes) else str(model)
        self._content = content_of(model, self._label)
        self._interpreter, self._is_plain = runnable(self._content, threads, self._label)
        self._inputs, self._outputs = slots_of(self._interpreter, self._label)
        self._shapes: dict[str, tuple[int, ...]] = {}  # as the runtime has them now
        self._order = self._checked(inputs)

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs, in the order of the Keras model where that is known."""
        return self._order or tuple(self._inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs; `output_0` and so on where the Keras model gives no dict."""
        return tuple(self._outputs)

    @property
    def size_bytes(self) -> int:
        """The size of the file."""
        return len(self._content)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know who runs the file elsewhere."""
        return (_PLAIN,) if self._is_plain else ()

    def op_counts(self) -> Counter[tuple[str, str]]:
        """Count the operators by name and type of numbers: `("CONV_2D", "int8")`."""
        try:
            return op_counts(self._content)
        except (IndexError, struct.error, TypeError, UnicodeDecodeError) as error:
            raise ModelError(f"{self._label}: its list of operators is damaged.") from error

    def __call__(self, x: Any) -> Any:
        """Return the outputs for a batch: an array, a list or a dict, as the Keras model does.

        Raises:
            UsageError: an input is missing, or has another shape or type than the model takes.
            ModelError: the runtime failed.
        """
        tensors = {name: self._tensor(name, one) for name, one in self._by_name(x).items()}
        count, fixed = self._batch_size(tensors), self._fixed_batch_size()
        if not fixed or fixed == count:
            return self._arranged(self._run(tensors))
        parts = [self._run(part) for part in _parts(tensors, count, fixed)]
        joined = {name: np.concatenate([one[name] for one in parts]) for name in self._outputs}
        return self._arranged({name: one[:count] for name, one in joined.items()})

    def _checked(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        if names is None:
            return tuple(self._inputs) if len(self._inputs) == 1 else None
        if sorted(names) != sorted(self._inputs):
            raise UsageError(
                f"inputs={list(names)}: {self._label} has the inputs {list(self._inputs)}."
            )
        return tuple(names)

    def _by_name(self, x: Any) -> dict[str, Any]:
        if isinstance(x, Mapping):
            given = dict(x)
            if set(given) != set(self._inputs):  # as the Keras model has them
                given = {plain(name): one for name, one in x.items()}
        elif isinstance(x, (list, tuple)) and self._order and _is_one_each(x, self._order):
            given = dict(zip(self._order, x, strict=True))
        elif len(self._inputs) == 1:
            given = {self.input_names[0]: x}
        else:
            given = {}
        if set(given) != set(self._inputs):
            raise UsageError(self._wanted(x))
        return given

    def _wanted(self, x: Any) -> str:
        found = f"a {type(x).__name__}"
        if isinstance(x, Mapping):
            found = f"the names {sorted(map(str, x))}"
        elif isinstance(x, (list, tuple)):
            found = f"a {type(x).__name__} of {len(x)}"
        wanted = ", ".join(f"{name!r}: …" for name in self.input_names)
        return f"{self._label} was given {found}. Give its inputs by name: run({{{wanted}}})."

    def _tensor(self, name: str, values: Any) -> Any:
        slot = self._inputs[name]
        array = as_tensor(values, slot)
        check_shape(array.shape, slot)
        return array

    def _batch_size(self, tensors: dict[str, Any]) -> int:
        sizes = {name: len(one) for name, one in tensors.items() if one.ndim}
        if len(set(sizes.values())) > 1:
            raise UsageError(f"The inputs have batches of different sizes: {sizes}.")
        return next(iter(sizes.values()), 0)

    def _fixed_batch_size(self) -> int:
        """Return the batch size that the file was made for; 0 where it takes any."""
        sizes = [slot.shape[0] for slot in self._inputs.values() if slot.shape]
        return 0 if -1 in sizes else max(sizes, default=0)

    def _run(self, tensors: dict[str, Any]) -> dict[str, Any]:
        try:
            self._resize(tensors)
            for name, array in tensors.items():
                self._interpreter.set_tensor(self._inputs[name].index, array)
            self._interpreter.invoke()
            results = {
                name: self._interpreter.get_tensor(slot.index)
                for name, slot in self._outputs.items()
            }
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"{self._label}: the runtime failed ({error}).") from error
        return {name: as_values(one, self._outputs[name]) for name, one in results.items()}

    def _resize(self, tensors: dict[str, Any]) -> None:
        """Tell the runtime the sizes of this batch, where they are not those of the last one."""
        shapes = {name: array.shape for name, array in tensors.items()}
        if shapes == self._shapes:
            return
        self._shapes = {}
        for name, shape in shapes.items():
            self._interpreter.resize_tensor_input(self._inputs[name].index, shape)
        allocate(self._interpreter, self._label)
        self._shapes = shapes

    def _arranged(self, outputs: dict[str, Any]) -> Any:
        if not all(name.startswith("output_") for name in outputs):
            return outputs
        return next(iter(outputs.values())) if len(outputs) == 1 else list(outputs.values())


def _is_one_each(x: Sequence[Any], names: Sequence[str]) -> bool:
    """Tell a list of inputs from a list that is a batch, which has no arrays in it."""
    return len(x) == len(names) and all(hasattr(one, "shape") for one in x)


def _parts(tensors: dict[str, Any], count: int, size: int) -> Iterator[dict[str, Any]]:
    """Yield a batch in parts of the size that the file takes; the last one is filled up."""
    for start in range(0, count, size):
        rows = np.minimum(np.arange(start, start + size), count - 1)
        yield {name: one[rows] for name, one in tensors.items()}
