"""Reads and runs `.tflite` files: arrays in and out, whatever types and batch size a file has."""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quickfit.compression.quantizing.conversion import plain_name
from quickfit.compression.quantizing.native_output import capture_native_output
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
        self._interpreter, self._is_plain = loaded_runtime(self._content, threads, self._label)
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
        parts = [self._run(part) for part in _fixed_size_parts(tensors, count, fixed)]
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
                given = {plain_name(name): one for name, one in x.items()}
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
        allocate_tensors(self._interpreter, self._label)
        self._shapes = shapes

    def _arranged(self, outputs: dict[str, Any]) -> Any:
        if not all(name.startswith("output_") for name in outputs):
            return outputs
        return next(iter(outputs.values())) if len(outputs) == 1 else list(outputs.values())


def _is_one_each(x: Sequence[Any], names: Sequence[str]) -> bool:
    """Tell a list of inputs from a list that is a batch, which has no arrays in it."""
    return len(x) == len(names) and all(hasattr(one, "shape") for one in x)


def _fixed_size_parts(tensors: dict[str, Any], count: int, size: int) -> Iterator[dict[str, Any]]:
    """Yield a batch in parts of the size that the file takes; the last one is filled up."""
    for start in range(0, count, size):
        rows = np.minimum(np.arange(start, start + size), count - 1)
        yield {name: one[rows] for name, one in tensors.items()}


# The interpreter is `Any`: it has no types.

# The four letters that every file of this format has after its first four bytes.
_MARK = b"TFL3"
MISSING_RUNTIME = (
    "Running a .tflite file needs the package ai-edge-litert, which is not installed.\n"
    "    pip install 'quickfit[litert]'"
)
# What Keras's export calls the outputs of a model that gives a tensor or a list of them.
_NUMBERED = re.compile(r"output_(\d+)")


def content_of(model: str | Path | bytes, label: str) -> bytes:
    """Return the bytes of a model.

    They are read, not mapped: a file that is overwritten in place would end the process.

    Raises:
        ModelError: there is no such file, it cannot be read, or it is not of this format.
    """
    content = model if isinstance(model, bytes) else _read_file(Path(model), label)
    if content[4:8] != _MARK:
        raise ModelError(f"{label}: not a .tflite file ({_content_kind(content)}).")
    return content


def loaded_runtime(content: bytes, threads: int, label: str) -> tuple[Any, bool]:
    """Return the runtime with a model loaded, and whether it does without XNNPACK.

    XNNPACK, which makes LiteRT fast, refuses some int8 files that the runtime itself can run: where
    a layer gave nothing but zeros on the samples, the scale of its values is too small for it.

    Raises:
        ModelError: see `interpreter_of`.
    """
    try:
        return interpreter_of(content, threads, label), False
    except ModelError as error:
        if "xnnpack" not in str(error).lower():
            raise
        return interpreter_of(content, threads, label, is_plain=True), True


def interpreter_of(content: bytes, threads: int, label: str, *, is_plain: bool = False) -> Any:
    """Return the runtime with a model loaded.

    Args:
        content: of the file.
        threads: that it may use.
        label: how messages name the file.
        is_plain: whether it runs without XNNPACK.

    Raises:
        ModelError: the runtime is missing, the file is damaged, or has operators it cannot run.
    """
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError as error:
        raise ModelError(MISSING_RUNTIME) from error
    kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if is_plain else OpResolverType.AUTO
    try:
        with capture_native_output():
            interpreter = Interpreter(
                model_content=content, num_threads=threads, experimental_op_resolver_type=kernels
            )
        is_ready = _has_known_sizes(interpreter)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ModelError(_broken_file_error(label, error)) from error
    if is_ready:
        allocate_tensors(interpreter, label)
    return interpreter


def allocate_tensors(interpreter: Any, label: str) -> None:
    """Make the runtime ready for inputs of the sizes it has been told.

    Raises:
        ModelError: it has operators that the runtime cannot run.
    """
    try:
        with capture_native_output():
            interpreter.allocate_tensors()
    except (RuntimeError, ValueError) as error:
        raise ModelError(_not_runnable_error(label, error)) from error


def _has_known_sizes(interpreter: Any) -> bool:
    """Tell whether nothing but the batch is open: an image of one pixel fits no convolution."""
    return not any(-1 in one["shape_signature"][1:] for one in interpreter.get_input_details())


def slots_of(interpreter: Any, label: str) -> tuple[dict[str, TensorSlot], dict[str, TensorSlot]]:
    """Return the inputs and outputs by name, the outputs in the order of the Keras model.

    Raises:
        ModelError: the file has several models in it.
    """
    try:
        signatures = list(interpreter.get_signature_list())
        given, results = _slot_details(interpreter, signatures)
        inputs = {name: tensor_slot(name, one) for name, one in given.items()}
        outputs = {
            name: tensor_slot(name, results[name]) for name in sorted(results, key=_output_number)
        }
    except (RuntimeError, TypeError, ValueError) as error:  # numbers that lead nowhere
        raise ModelError(_broken_file_error(label, error)) from error
    if len(signatures) > 1:
        raise ModelError(
            f"{label}: it has {len(signatures)} signatures ({', '.join(signatures)}). "
            "quickfit runs files with one, as Keras exports them."
        )
    return inputs, outputs


def _slot_details(
    interpreter: Any, signatures: list[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return what the interpreter tells of inputs and outputs, by name."""
    if signatures:
        signature = interpreter.get_signature_runner(signatures[0])
        return signature.get_input_details(), signature.get_output_details()
    # Written by other tools; their tensors have names, too.
    given = {one["name"]: one for one in interpreter.get_input_details()}
    results = enumerate(interpreter.get_output_details())
    return given, {f"output_{number}": one for number, one in results}


def _output_number(name: str) -> tuple[int, str]:
    """Sort `output_10` after `output_2`."""
    found = _NUMBERED.fullmatch(name)
    return (int(found[1]) if found else 0, name)


def _read_file(path: Path, label: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{label}: cannot be read ({error.strerror}).") from error


def _content_kind(content: bytes) -> str:
    if not content:
        return "it is empty"
    known = {b"PK\x03\x04": "it is a zip file, as .keras files are", b"\x89HDF": "it is HDF5"}
    return known.get(content[:4], f"it begins with {content[:8]!r}")


def _broken_file_error(label: str, error: Exception) -> str:
    if "Didn't find op for builtin" in str(error):
        return (
            f"{label}: the installed runtime does not know one of its operators "
            f"({_first_line(error)}).\n    pip install -U ai-edge-litert"
        )
    return (
        f"{label}: the file is damaged or not complete ({_first_line(error)}).\n"
        "Copy it again, or export the model again."
    )


def _not_runnable_error(label: str, error: Exception) -> str:
    if "Select TensorFlow op" in str(error):
        return (
            f"{label}: it has operators of TensorFlow that LiteRT does not have "
            f"({_first_line(error)}).\n"
            "It runs where the Flex delegate is linked in, or replace the layers that need them."
        )
    return f"{label}: the runtime cannot prepare it ({_first_line(error)})."


def _first_line(error: Exception) -> str:
    """Return the first line of an error, without the runtime's own source file."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")[:300]


# Arrays are `Any`: they may hold numbers of every type.


@dataclass(frozen=True)
class TensorSlot:
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


def tensor_slot(name: str, details: dict[str, Any]) -> TensorSlot:
    """Return an input or output from what the interpreter tells of it."""
    scale, zero = details["quantization"]
    shape = details["shape_signature"] if len(details["shape_signature"]) else details["shape"]
    sizes = tuple(int(size) for size in shape)
    return TensorSlot(
        name, details["index"], sizes, np.dtype(details["dtype"]), float(scale), int(zero)
    )


def as_tensor(values: Any, slot: TensorSlot) -> Any:
    """Return values as the tensor wants them; an array of the tensor's own type stays as it is.

    Raises:
        UsageError: they are no numbers, or do not fit into the tensor's type.
    """
    array = np.asarray(values)
    if array.dtype == slot.dtype:
        return array
    if array.dtype.kind not in "fiub":
        # NumPy does not count bfloat16 as a number; everything else here is text or objects.
        array = _as_numbers(array, slot)
    if slot.is_quantised:
        return _quantise_array(array, slot)
    if slot.dtype.kind in "iu":
        _check_whole(array, slot)
    return array.astype(slot.dtype)


def as_values(array: Any, slot: TensorSlot) -> Any:
    """Return what a tensor stands for: real numbers where it holds steps of a scale."""
    if not slot.is_quantised:
        return array
    return (array.astype(np.float32) - slot.zero) * np.float32(slot.scale)


def _as_numbers(array: Any, slot: TensorSlot) -> Any:
    if array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    raise UsageError(
        f"Input {slot.name!r} was given values of the type {array.dtype}, which are no numbers. "
        f"It takes {slot.dtype} of the shape {shape_text(slot.shape)}."
    )


def _quantise_array(array: Any, slot: TensorSlot) -> Any:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise UsageError(
            f"Input {slot.name!r} was given NaN or infinity. It takes {slot.dtype}, which has "
            f"neither: look for them in the data."
        )
    steps = np.round(array / np.float32(slot.scale)) + slot.zero
    limits = np.iinfo(slot.dtype)
    return np.clip(steps, limits.min, limits.max).astype(slot.dtype)


def _check_whole(array: Any, slot: TensorSlot) -> None:
    """Refuse numbers that would become others."""
    limits = np.iinfo(slot.dtype)
    is_whole = array.dtype.kind != "f" or bool((array == np.floor(array)).all())
    fits = not array.size or (array.min() >= limits.min and array.max() <= limits.max)
    if not (is_whole and fits):
        raise UsageError(
            f"Input {slot.name!r} takes whole numbers ({slot.dtype}), and was given {array.dtype} "
            f"from {array.min()} to {array.max()}. Give the numbers that the Keras model takes."
        )


def check_shape(shape: tuple[int, ...], slot: TensorSlot) -> None:
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
    names = _operator_codes(schema.BuiltinOperator)
    types = {number: name.lower() for number, name in _operator_codes(schema.TensorType).items()}
    counts: Counter[tuple[str, str]] = Counter()
    for number in range(model.SubgraphsLength()):
        graph = _Subgraph(model.Subgraphs(number), types)
        for op in graph.operators():
            counts[_operator_name(op, model, names), graph.type_of(op)] += 1
    return counts


def _operator_codes(constants: type) -> dict[int, str]:
    return {number: name for name, number in vars(constants).items() if isinstance(number, int)}


def _operator_name(op: Any, model: Any, names: dict[int, str]) -> str:
    code = model.OperatorCodes(op.OpcodeIndex())
    if code.CustomCode():
        return str(code.CustomCode().decode("utf-8", "replace"))
    # Files of older writers have the number in the first field alone.
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    return names.get(number, f"operator {number}")


class _Subgraph:
    """The operators and tensors of one subgraph."""

    def __init__(self, graph: Any, types: dict[int, str]) -> None:
        self._graph = graph
        self._types = types
        made = {one for op in self.operators() for one in _operator_outputs(op)}
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
        outputs = _operator_outputs(op)
        own = self._type(outputs[0]) if outputs else "none"
        if own != "float32":
            return own
        weights = [self._weight_type(one) for one in _operator_inputs(op)]
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


def _operator_inputs(op: Any) -> list[int]:
    """Return an operator's inputs; one that is left out has the number -1."""
    return [op.Inputs(n) for n in range(op.InputsLength()) if op.Inputs(n) >= 0]


def _operator_outputs(op: Any) -> list[int]:
    return [op.Outputs(n) for n in range(op.OutputsLength())]
