"""The kinds of `.tflite` files, and what makes TensorFlow's converter write each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quickfit.errors import UsageError


@dataclass(frozen=True)
class Kind:
    """One kind of file.

    Args:
        needs_calibration: whether ranges of numbers are to be learned from samples.
        meaning: what it is, in words.
    """

    needs_calibration: bool
    meaning: str


KINDS = {
    "float32": Kind(False, "the numbers of the Keras model"),
    "float16": Kind(False, "weights of half the size, computed in float32"),
    "dynamic": Kind(False, "weights in int8, activations quantised while it runs"),
    "int8": Kind(True, "weights and activations in int8, float inputs and outputs"),
    "int8-full": Kind(True, "everything in int8, inputs and outputs too"),
}


def kind_named(name: str) -> Kind:
    """Return a kind.

    Raises:
        UsageError: there is none of this name.
    """
    if name not in KINDS:
        raise UsageError(f"kind={name!r}: there are {', '.join(KINDS)}.")
    return KINDS[name]


def operators_of(name: str) -> str:
    """Return the name in `tf.lite.OpsSet` of what a file of this kind is made of."""
    return "TFLITE_BUILTINS_INT8" if name == "int8-full" else "TFLITE_BUILTINS"


def options_of(name: str) -> dict[str, Any]:  # objects of TensorFlow, without types
    """Return the attributes of the converter for a kind; the samples are to be added."""
    import tensorflow as tf

    if name == "float32":
        return {}
    options: dict[str, Any] = {"optimizations": [tf.lite.Optimize.DEFAULT]}
    if name == "float16":
        options["target_spec"] = {"supported_types": [tf.float16]}
    if name == "int8-full":
        options |= {"inference_input_type": tf.int8, "inference_output_type": tf.int8}
    return options
