"""Turns a Keras model into the content of a `.tflite` file, or says why that fails."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from quickfit.compression.calibration import Samples, samples_of
from quickfit.compression.copying import copy_state, fresh_layer, rebuild_graph
from quickfit.compression.graph import Call, graph_of
from quickfit.compression.keras_internals import graph_body, has_graph
from quickfit.compression.quantizing.native_output import capture_native_output
from quickfit.errors import ModelError, UsageError

# Models and TensorFlow's objects are `Any`: neither has types of its own.


@dataclass(frozen=True)
class ConversionAttempt:
    """One way to convert a model; the next one gives up a little more.

    Args:
        operators: names in `tf.lite.OpsSet` of what the file may use.
        batch_size: that the file takes; None for any.
        note: what a person should know where this is the way that worked.
    """

    operators: tuple[str, ...]
    batch_size: int | None = None
    note: str = ""


@dataclass(frozen=True)
class ConvertedFile:
    """The content of a file, and what a person should know about it."""

    content: bytes
    notes: tuple[str, ...] = ()


_ONE_BY_ONE = (
    "The file takes one sample at a time: a layer of this model cannot be converted for batches "
    "of any size."
)
_NEEDS_TENSORFLOW = (
    "The file has operators of TensorFlow in it (SELECT_TF_OPS): it runs where the Flex delegate "
    "is linked in, not in plain LiteRT. Replace the layers that need them to run it everywhere."
)
_NOT_ALL_INT8 = "LiteRT has no int8 form of some operators of this model: these stayed in float."


def conversion_attempts(operators: str) -> Iterator[ConversionAttempt]:
    """Yield the ways to convert, the best file first.

    Args:
        operators: `TFLITE_BUILTINS`, or `TFLITE_BUILTINS_INT8` for nothing but int8.
    """
    first = ConversionAttempt((operators,))
    ways = [first, replace(first, batch_size=1, note=_ONE_BY_ONE)]
    if operators != "TFLITE_BUILTINS":
        both = (operators, "TFLITE_BUILTINS")
        ways += [ConversionAttempt(both, note=_NOT_ALL_INT8)]
    yield from ways
    yield ConversionAttempt((*ways[-1].operators, "SELECT_TF_OPS"), note=_NEEDS_TENSORFLOW)


def convert_model(model: Any, options: dict[str, Any], *, operators: str) -> ConvertedFile:
    """Return a model as the content of a file.

    Args:
        model: a built Keras model.
        options: attributes of TensorFlow's converter.
        operators: what the file should be made of; see `attempts`.

    Raises:
        ModelError: none of the ways worked; it says why the first one did not.
    """
    reasons = []
    for attempt in conversion_attempts(operators):
        content, reason = _try_conversion(model, options, attempt)
        if content is not None:
            return ConvertedFile(content, (attempt.note,) if attempt.note else ())
        reasons.append(reason)
    raise ModelError(cannot_convert(model, reasons))


def _try_conversion(
    model: Any, options: dict[str, Any], attempt: ConversionAttempt
) -> tuple[bytes | None, str]:
    """Return the content; or nothing, and why."""
    import tensorflow as tf

    target = dict(options.get("target_spec", {}))
    target["supported_ops"] = [getattr(tf.lite.OpsSet, name) for name in attempt.operators]
    settings = {
        **options,
        "target_spec": target,
        "input_signature": input_signature(model, attempt),
    }
    with tempfile.TemporaryDirectory(prefix="quickfit-") as folder:
        file = Path(folder) / "model.tflite"
        try:
            with capture_native_output() as said:
                model.export(str(file), format="litert", verbose=False, **settings)
        except _conversion_failures() as error:
            return None, short_reason(str(error), said.text)
        return file.read_bytes(), ""


def _conversion_failures() -> tuple[type[Exception], ...]:
    """Return what tracing a model of anybody's, and converting it, raise."""
    import tensorflow as tf
    from tensorflow.lite.python.convert_phase import ConverterError  # it has no public name

    own = (ConverterError, tf.errors.OpError)
    return (*own, ValueError, TypeError, RuntimeError, AttributeError, KeyError)


def input_signature(model: Any, attempt: ConversionAttempt) -> Any:
    """Return the inputs of a model as its export wants them told; None lets Keras find out.

    The inputs get names: the file knows them by nothing else.
    """
    import keras

    if not has_graph(model):
        return None
    body = graph_body(model)
    names = dict(zip(map(id, body.inputs), input_names(model), strict=True))

    def spec(tensor: Any) -> Any:
        shape = (attempt.batch_size, *tensor.shape[1:]) if len(tensor.shape) else ()
        return keras.InputSpec(shape=shape, dtype=tensor.dtype, name=names[id(tensor)])

    return [keras.tree.map_structure(spec, body.input)]


# The converter's own words, in the order in which they say most.
_OPS = re.compile(r"'tf\.(\w+)' op is neither")
_LISTED = re.compile(r"^(?:Flex|Custom) ops: (.+)$", re.MULTILINE)
_ERROR = re.compile(r"error: (?!failed while converting)(.+)")
# Where an operator stands: "sequential_1/lstm_1/while@__inference_function_44".
_PLACE = re.compile(r'"(\w+):", "([\w./-]+)@')
_MOST = 300


def short_reason(error: str, printed: str) -> str:
    """Return why a conversion failed, in a line or two.

    Args:
        error: the text of the exception, which can be the whole program.
        printed: what the converter wrote meanwhile.
    """
    text = f"{error}\n{printed}"
    missing = sorted({*_OPS.findall(text), *_operator_names(_LISTED.findall(text))})
    if missing:
        return f"LiteRT has no operator for {', '.join(missing)}{_operator_places(text, missing)}"
    found = _ERROR.search(_PLACE.sub("", text))
    line = found[1] if found else _telling_line(error)
    return f"{_without_location(line)[:_MOST]}{_operator_places(text, [])}"


def cannot_convert(model: Any, reasons: Sequence[str]) -> str:
    """Return the message for a model that no way could convert."""
    first, *others = dict.fromkeys(reasons)
    also = "".join(f"\nAnother way: {reason}." for reason in others[-1:])
    return (
        f"The model '{model.name}' cannot be converted to LiteRT: {first}.{also}\n"
        "Replace the layers it names by others, or keep the Keras model."
    )


def _telling_line(error: str) -> str:
    """Return the line of a Python error that says most: the last one where it was traced."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    return lines[-1] if lines[0].startswith("in user code") else lines[0]


def _operator_names(lists: Sequence[str]) -> set[str]:
    return {name.strip().removeprefix("Flex") for one in lists for name in one.split(",")}


def _operator_places(text: str, operators: Sequence[str]) -> str:
    """Return the layers around the operators, as Keras calls them."""
    found = [
        where.split("/")[:-1]
        for op, where in _PLACE.findall(text)
        if "/" in where and (not operators or op in operators)
    ]
    layers = list(dict.fromkeys("/".join(parts[1:]) or parts[0] for parts in found))
    return f" (in {', '.join(layers[:3])})" if layers else ""


def _without_location(line: str) -> str:
    return re.sub(r"loc\(.*\)\)*: (error: )?", "", line).strip().rstrip(".")


# Models and graphs are `Any`: TensorFlow has no types of its own.

_LOOPS = ("While", "StatelessWhile", "If", "StatelessIf")


def check_no_loops(model: Any) -> None:
    """Refuse to calibrate a model with loops or branches, such as an LSTM that is not unrolled.

    TensorFlow 2.21 crashes on them (a segmentation fault, not an exception).

    Raises:
        ModelError: it has some; it says in which layers.
    """
    names = loops_in(model)
    if names:
        raise ModelError(
            f"The model '{model.name}' has loops or branches (in {', '.join(names[:3])}): int8 "
            "needs calibration, and TensorFlow's cannot go through them. Use kind='dynamic', which "
            "needs none, or give recurrent layers unroll=True where the number of steps is fixed."
        )


def loops_in(model: Any) -> list[str]:
    """Return the places of loops and branches, as the model's graph calls them."""
    specs = input_signature(model, ConversionAttempt((), batch_size=1))
    if specs is None:
        return []  # a subclassed model: only its export knows what it takes
    with capture_native_output():
        graph = _traced_graph(model, specs[0]).as_graph_def()
    nodes = [*graph.node, *(node for one in graph.library.function for node in one.node_def)]
    places = [node.name.rpartition("/")[0] or node.name for node in nodes if node.op in _LOOPS]
    return list(dict.fromkeys(place.partition("/")[2] or place for place in places))


def _traced_graph(model: Any, specs: Any) -> Any:
    import keras
    import tensorflow as tf

    given = keras.tree.map_structure(
        lambda one: tf.TensorSpec(one.shape, one.dtype, name=one.name), specs
    )
    function = tf.function(lambda x: model(x, training=False))
    return function.get_concrete_function(given).graph


# Models are `Any`: Keras has no types of its own.


def plain_name(name: str) -> str:
    """Return a name as a file can have it: TensorFlow refuses to export others.

    `my image` becomes `my_image`.
    """
    return re.sub(r"[^A-Za-z0-9_.]", "_", str(name)).lstrip("_.") or "input"


def input_names(model: Any) -> tuple[str, ...]:
    """Return the names in the order of `model.inputs`; none for a model that has no graph.

    They are the keys where the model takes a dict, and the names of its inputs otherwise.
    """
    if not has_graph(model):
        return ()
    body = graph_body(model)
    keys: dict[int, str] = {}
    if isinstance(body.input, dict):
        keys = {id(tensor): str(key) for key, tensor in body.input.items()}
    names: list[str] = []
    for tensor in body.inputs:
        names.append(_unused_name(plain_name(keys.get(id(tensor), tensor.name)), names))
    return tuple(names)


def _unused_name(name: str, taken: list[str]) -> str:
    """Return a name that no other input has: `a b` and `a-b` are one, once they are plain."""
    number = 2
    wanted = name
    while wanted in taken:
        wanted, number = f"{name}_{number}", number + 1
    return wanted


# Models and arrays are `Any`: Keras has no types of its own, arrays hold numbers of every type.


def finite_samples(model: Any, data: Any, limit: int) -> Samples:
    """Return samples that ranges can be learned from.

    Args:
        model: whose inputs they are for.
        data: everything that `samples_of` takes.
        limit: how many to take at most.

    Raises:
        UsageError: they do not fit the model, or some are not finite.
    """
    samples = samples_of(model, data, limit)
    for name, array in zip(input_names(model), samples.arrays, strict=True):
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            bad = int((~np.isfinite(array.reshape(len(array), -1)).all(axis=1)).sum())
            raise UsageError(
                f"{bad} of {len(array)} samples for calibration hold NaN or infinity (input "
                f"'{name}'): no range can be learned from them. Look for them in the data."
            )
    return samples


def named_feeds(model: Any, samples: Samples, size: int = 1) -> list[dict[str, Any]]:
    """Return samples by the names of the inputs, as those who calibrate take them.

    Args:
        model: whose inputs they are for.
        samples: to give.
        size: how many at a time; TensorFlow's converter takes them one by one.
    """
    names = input_names(model)
    return [dict(zip(names, arrays, strict=True)) for arrays in samples.batches(size)]


def model_batches(model: Any, samples: Samples, size: int) -> Iterator[Any]:
    """Yield samples in batches, in the structure that the model takes."""
    import keras

    structure = graph_body(model).input
    for arrays in samples.batches(size):
        yield keras.tree.pack_sequence_as(structure, list(arrays))


# Models and layers are `Any`: Keras has no types of its own.


def in_float32(model: Any) -> Any:
    """Return a model that computes in float32: itself, or a copy with the same weights.

    Raises:
        ModelError: it computes in 16 bits, and is subclassed.
    """
    if not _has_halves(model):
        return model
    made = rebuild_graph(graph_of(model), _InFloat32())
    made.dtype_policy = "float32"
    return made


def _has_halves(model: Any) -> bool:
    layers = getattr(model, "layers", [])
    return any(
        _has_halves(layer) if has_graph(layer) else "16" in str(layer.compute_dtype)
        for layer in layers
    )


class _InFloat32:
    """Makes the layers of the copy."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def __call__(self, call: Call, tensors: tuple[Any, ...]) -> Any:
        import keras

        if not isinstance(call.layer, keras.Layer):
            return None  # an operation computes in the type of what it is given
        is_new = id(call.layer) not in self._made
        layer = self._made.setdefault(id(call.layer), self._like(call))
        result = call.replay(layer, tensors)
        if is_new and not has_graph(call.layer):
            copy_state(call.layer, layer)
        return result

    def _like(self, call: Call) -> Any:
        if has_graph(call.layer):
            return in_float32(call.layer)
        return fresh_layer(call.layer, name=call.name, dtype="float32")
