"""Which operators a `.tflite` file has, and in which type of numbers each of them works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

# The objects of the file's schema are `Any`: they are generated, without types.

# They change nothing but the type or the form of numbers.
PLUMBING = frozenset(
    {
        *("QUANTIZE", "DEQUANTIZE", "CAST", "SHAPE", "STRIDED_SLICE", "PACK", "RESHAPE"),
        *("EXPAND_DIMS", "SQUEEZE", "BROADCAST_TO", "FILL", "RANGE"),
    }
)


def op_counts(content: bytes) -> Counter[tuple[str, str]]:
    """Count the operators of a file by their name and type of numbers.

    The type is that of the operator's result: `int8`, `float32`. Where a result in float32 is
    computed from smaller weights, the type says so: `float32 with int8 weights`.

    Args:
        content: a whole file that the interpreter has accepted.
    """
    from ai_edge_litert import schema_py_generated as schema

    model = schema.Model.GetRootAs(content, 0)
    names = _names(schema.BuiltinOperator)
    types = {number: name.lower() for number, name in _names(schema.TensorType).items()}
    counts: Counter[tuple[str, str]] = Counter()
    for number in range(model.SubgraphsLength()):
        graph = _Graph(model.Subgraphs(number), types)
        for op in graph.operators():
            counts[_name(op, model, names), graph.type_of(op)] += 1
    return counts


def _names(constants: type) -> dict[int, str]:
    return {number: name for name, number in vars(constants).items() if isinstance(number, int)}


def _name(op: Any, model: Any, names: dict[int, str]) -> str:
    code = model.OperatorCodes(op.OpcodeIndex())
    if code.CustomCode():
        return str(code.CustomCode().decode("utf-8", "replace"))
    # Files of older writers have the number in the first field alone.
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    return names.get(number, f"operator {number}")


class _Graph:
    """The operators and tensors of one subgraph."""

    def __init__(self, graph: Any, types: dict[int, str]) -> None:
        self._graph = graph
        self._types = types
        made = {one for op in self.operators() for one in _outputs(op)}
        self._constants = (
            set(range(graph.TensorsLength()))
            - made
            - {graph.Inputs(n) for n in range(graph.InputsLength())}
        )
        # float16 and weight-only files make their weights float32 again while they run.
        self._small = {
            op.Outputs(0): self._type(op.Inputs(0))
            for op in self.operators()
            if op.InputsLength() == 1 and op.Inputs(0) in self._constants
        }

    def operators(self) -> Iterator[Any]:
        """Yield the operators in the order they run."""
        return (self._graph.Operators(n) for n in range(self._graph.OperatorsLength()))

    def type_of(self, op: Any) -> str:
        """Return the type of an operator's result, and that of its weights where it differs."""
        outputs = _outputs(op)
        own = self._type(outputs[0]) if outputs else "none"
        if own != "float32":
            return own
        weights = [self._weight_type(one) for one in _inputs(op)]
        small = [name for name in weights if name not in ("", "float32")]
        return f"{own} with {small[0]} weights" if small else own

    def _weight_type(self, tensor: int) -> str:
        """Return the type of a weight as it is stored; nothing for what is no weight."""
        if tensor in self._small:
            return self._small[tensor]
        name = self._type(tensor)
        # int32 and int64 are sizes and axes, and biases of operators in int8.
        is_weight = tensor in self._constants and name not in ("int32", "int64", "bool")
        return name if is_weight else ""

    def _type(self, tensor: int) -> str:
        return self._types.get(self._graph.Tensors(tensor).Type(), "unknown")


def _inputs(op: Any) -> list[int]:
    """Return an operator's inputs; one that is left out has the number -1."""
    return [op.Inputs(n) for n in range(op.InputsLength()) if op.Inputs(n) >= 0]


def _outputs(op: Any) -> list[int]:
    return [op.Outputs(n) for n in range(op.OutputsLength())]
