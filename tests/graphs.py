"""A graph of a train step with TensorFlow's names, small enough to write down in a test."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

# The shape of what compares everything with everything in a batch.
PAIRS = (None, None)


class Shape(list[Any]):
    """A shape as TensorFlow has it."""

    @property
    def rank(self) -> int:
        return len(self)


class Unknown:
    """A shape of which nothing is known."""

    rank = None


class Tensor:
    """A tensor of a graph that knows what made it and who takes it."""

    def __init__(self, op: Any, shape: Any, dtype: str = "float32") -> None:
        self.op = op
        self.shape: Any = shape if shape is Unknown else Shape(shape)
        self.dtype = SimpleNamespace(name=dtype)
        self.taken_by: list[Any] = []

    def consumers(self) -> list[Any]:
        return self.taken_by


class Graph:
    """A graph of a step: `x` goes through weights and becomes `predictions`."""

    def __init__(self, labels: Any = (None,), predictions: Any = (None, 1)) -> None:
        self.operations: list[Any] = []
        self.inputs: list[Tensor] = []
        self.x, self.labels = self.given("x", (None, 4)), self.given("y", labels)
        self.weights = self.given("w", (), dtype="resource")
        read = self.op("ReadVariableOp", (4, 1), self.weights)
        self.predictions = self.op("MatMul", predictions, self.x, read)

    def get_operations(self) -> list[Any]:
        return self.operations

    def given(self, name: str, shape: Any, dtype: str = "float32") -> Tensor:
        made = self.op("Placeholder", shape, name=name, dtype=dtype)
        self.inputs.append(made)
        return made

    def op(
        self,
        kind: str,
        shape: Any,
        *inputs: Tensor,
        name: str | None = None,
        dtype: str = "float32",
    ) -> Tensor:
        """Add an operation and return its result."""
        name = name or f"{kind}_{len(self.operations)}"
        made = SimpleNamespace(type=kind, name=name, inputs=list(inputs), outputs=[])
        made.traceback = [
            SimpleNamespace(filename="/project/train.py", lineno=9, name="step"),
            SimpleNamespace(filename="/usr/lib/python3/site-packages/a.py", lineno=1, name="f"),
        ]
        made.outputs.append(Tensor(made, shape, dtype))
        for one in inputs:
            one.taken_by.append(made)
        self.operations.append(made)
        result: Tensor = made.outputs[0]
        return result

    def loss(self, kind: str, shape: Any, *inputs: Tensor, is_trained: bool = True) -> Tensor:
        """Compare, square and average; a gradient goes back through it."""
        compared = self.op(kind, shape, *inputs)
        self.op("Mean", (), self.op("Square", shape, compared))
        if is_trained:
            self.op("Mul", shape, compared, compared, name="gradient_tape/loss/Mul")
        return compared
