"""Turns a Keras model into the content of a `.tflite` file, quietly, or says why it cannot."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quickfit.compression.quantizing.complaints import cannot_convert, short_reason
from quickfit.compression.quantizing.naming import input_names
from quickfit.compression.quantizing.quiet import quiet
from quickfit.compression.walking.kinds import graph_body, has_graph
from quickfit.errors import ModelError

# Models and TensorFlow's objects are `Any`: neither has types of its own.


@dataclass(frozen=True)
class Attempt:
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
class Converted:
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


def attempts(operators: str) -> Iterator[Attempt]:
    """Yield the ways to convert, the best file first.

    Args:
        operators: `TFLITE_BUILTINS`, or `TFLITE_BUILTINS_INT8` for nothing but int8.
    """
    first = Attempt((operators,))
    ways = [first, replace(first, batch_size=1, note=_ONE_BY_ONE)]
    if operators != "TFLITE_BUILTINS":
        both = (operators, "TFLITE_BUILTINS")
        ways += [Attempt(both, note=_NOT_ALL_INT8)]
    yield from ways
    yield Attempt((*ways[-1].operators, "SELECT_TF_OPS"), note=_NEEDS_TENSORFLOW)


def converted(model: Any, options: dict[str, Any], *, operators: str) -> Converted:
    """Return a model as the content of a file.

    Args:
        model: a built Keras model.
        options: attributes of TensorFlow's converter.
        operators: what the file should be made of; see `attempts`.

    Raises:
        ModelError: none of the ways worked; it says why the first one did not.
    """
    reasons = []
    for attempt in attempts(operators):
        content, reason = _tried(model, options, attempt)
        if content is not None:
            return Converted(content, (attempt.note,) if attempt.note else ())
        reasons.append(reason)
    raise ModelError(cannot_convert(model, reasons))


def _tried(model: Any, options: dict[str, Any], attempt: Attempt) -> tuple[bytes | None, str]:
    """Return the content; or nothing, and why."""
    import tensorflow as tf

    target = dict(options.get("target_spec", {}))
    target["supported_ops"] = [getattr(tf.lite.OpsSet, name) for name in attempt.operators]
    settings = {**options, "target_spec": target, "input_signature": signature(model, attempt)}
    with tempfile.TemporaryDirectory(prefix="quickfit-") as folder:
        file = Path(folder) / "model.tflite"
        try:
            with quiet() as said:
                model.export(str(file), format="litert", verbose=False, **settings)
        except _failures() as error:
            return None, short_reason(str(error), said.text)
        return file.read_bytes(), ""


def _failures() -> tuple[type[Exception], ...]:
    """Return what tracing a model of anybody's, and converting it, raise."""
    import tensorflow as tf
    from tensorflow.lite.python.convert_phase import ConverterError  # it has no public name

    own = (ConverterError, tf.errors.OpError)
    return (*own, ValueError, TypeError, RuntimeError, AttributeError, KeyError)


def signature(model: Any, attempt: Attempt) -> Any:
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
