"""Keras models as `.tflite` files: float32, float16, int8, or by a recipe of ai-edge-quantizer."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickfit.compression.keras_internals import graph_body
from quickfit.compression.litert import PLUMBING, op_counts
from quickfit.compression.quantizing.conversion import (
    ConvertedFile,
    check_no_loops,
    convert_model,
    finite_samples,
    in_float32,
    input_names,
    named_feeds,
    short_reason,
)
from quickfit.compression.quantizing.fake_quantization import (
    is_fake_quantised,
    stripped,
    with_ranges,
)
from quickfit.compression.quantizing.keras_quantization import is_keras_quantized
from quickfit.compression.quantizing.native_output import capture_native_output
from quickfit.errors import ModelError, UsageError

if TYPE_CHECKING:
    from quickfit.compression.calibration import Samples
    from quickfit.compression.litert import Runner

# Models and data are `Any`: Keras has no types of its own, and data come in many forms.

# Scikit-learn's digits lost no accuracy with so many; the time grows with their number.
CALIBRATION_SAMPLES = 128


@dataclass(frozen=True)
class Exported:
    """A file that was written.

    Args:
        path: where it is.
        kind: as it was asked for.
        size_bytes: of the file.
        inputs: names of its inputs in the order of the Keras model.
        notes: what a person should know about it.
    """

    path: Path
    kind: str
    size_bytes: int
    inputs: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def runner(self, *, threads: int = 1) -> Runner:
        """Return what runs it, with inputs in the order of the Keras model."""
        from quickfit.compression.litert import Runner

        return Runner(self.path, threads=threads, inputs=self.inputs or None)


def exported(
    model: Any, path: str | Path, kind: str = "float32", calibration: Any = None
) -> Exported:
    """Write a model as a `.tflite` file.

    Args:
        model: a built Keras model; one from `fake_quantised` becomes the int8 it was trained for.
        path: of the file. It is written whole or not at all.
        kind: `float32`; `float16` (weights of half the size); `dynamic` (weights in int8);
            `int8` (weights and activations); `int8-full` (inputs and outputs too).
        calibration: for int8: some samples as the model takes them, without labels. The ranges of
            numbers between the layers are learned from 128 of them.

    Raises:
        UsageError: the kind, the path or the samples are wrong.
        ModelError: the model cannot be converted; it says which layer is in the way.
    """
    file_kind(kind)
    check_target(Path(path))
    made = _convert_for_kind(model, kind, calibration)
    return write_export(model, Path(path), kind, made.content, made.notes)


def write_export(
    model: Any, path: Path, kind: str, content: bytes, notes: tuple[str, ...]
) -> Exported:
    """Write the content of a file, and say what it is."""
    write_whole(path, content)
    remarks = (*notes, *remarks_on(content, kind))
    return Exported(path, kind, len(content), input_names(model), remarks)


def float_content(model: Any) -> ConvertedFile:
    """Return a model as the content of a file in float32."""
    return _convert_for_kind(model, "float32", None)


def calibration_samples(model: Any, option: str, calibration: Any) -> Samples:
    """Return the samples to learn ranges from.

    Args:
        model: a functional or Sequential model; others have no names for their inputs.
        option: what needs them, as the user wrote it.
        calibration: what the user gave.

    Raises:
        UsageError: none were given, or they do not fit.
        ModelError: the model has no graph.
    """
    graph_body(model)
    if calibration is None:
        raise UsageError(
            f"{option} needs samples to learn the ranges of numbers from: give calibration=images, "
            "some of those the model was trained on."
        )
    return finite_samples(model, calibration, CALIBRATION_SAMPLES)


def _convert_for_kind(model: Any, kind: str, calibration: Any) -> ConvertedFile:
    _check_model(model)
    options, operators = options_of(kind), operators_of(kind)
    needs_ranges = file_kind(kind).needs_calibration
    if is_fake_quantised(model):
        plain = with_ranges(model) if needs_ranges else stripped(model)
        # The set of operators in nothing but int8 is for samples, which are not needed here.
        return convert_model(plain, options, operators="TFLITE_BUILTINS")
    if needs_ranges:
        samples = named_feeds(model, calibration_samples(model, f"kind={kind!r}", calibration))
        check_no_loops(model)
        options["representative_dataset"] = lambda: iter(samples)
    return convert_model(in_float32(model), options, operators=operators)


def _check_model(model: Any) -> None:
    import keras

    if not isinstance(model, keras.Model):
        graph_body(model)  # says what to give
    if is_keras_quantized(model):
        raise ModelError(
            f"The model '{model.name}' is in Keras's own int8 or int4, which LiteRT cannot take "
            "over. Export the float model it was made from: exported(model, path, 'int8', samples)."
        )


# Models and data are `Any`: Keras has no types of its own, and data come in many forms.

# Our names, and the functions of `ai_edge_quantizer.recipe`.
RECIPES = {
    "dynamic-int8": "dynamic_wi8_afp32",
    "weights-int8": "weight_only_wi8_afp32",
    "static-int8": "static_wi8_ai8",
    "dynamic-int4": "dynamic_wi4_afp32",
    "weights-int4": "weight_only_wi4_afp32",
}
_STATIC = "static-int8"
# What Keras's export calls the one signature of a file.
_SIGNATURE = "serving_default"
# It keeps a moving average of the ranges it is shown: one by one, many samples would exceed it.
_AT_A_TIME = 32
_MISSING = (
    "The recipes need the package ai-edge-quantizer, which is not installed.\n"
    "    pip install 'quickfit[litert]'"
)


def exported_by_recipe(
    model: Any, path: str | Path, recipe: str, calibration: Any = None
) -> Exported:
    """Write a model as a `.tflite` file by a recipe of ai-edge-quantizer.

    They differ from the kinds of `exported` in that every layer with weights is quantised, small
    ones too, and in that there are four bits.

    Args:
        model: a built Keras model.
        path: of the file. It is written whole or not at all.
        recipe: `dynamic-int8` and `dynamic-int4` (small weights, activations quantised while it
            runs), `weights-int8` and `weights-int4` (small weights, computed in float32),
            `static-int8` (weights and activations; inputs and outputs are int8).
        calibration: for `static-int8`: some samples as the model takes them, without labels.

    Raises:
        UsageError: the recipe, the path or the samples are wrong.
        ModelError: the model cannot be converted, or ai-edge-quantizer is missing or fails.
    """
    if recipe not in RECIPES:
        raise UsageError(f"recipe={recipe!r}: there are {', '.join(RECIPES)}.")
    check_target(Path(path))
    tool, makers = _quantizer_package()
    samples = _recipe_samples(model, calibration) if recipe == _STATIC else None
    made = float_content(model)
    content = _quantise_by_recipe(made.content, getattr(makers, RECIPES[recipe])(), samples, tool)
    return write_export(model, Path(path), recipe, content, made.notes)


def _quantizer_package() -> tuple[Any, Any]:
    try:
        from ai_edge_quantizer import quantizer, recipe
    except ImportError as error:
        raise ModelError(_MISSING) from error
    return quantizer, recipe


def _recipe_samples(model: Any, calibration: Any) -> list[dict[str, Any]]:
    samples = calibration_samples(model, f"recipe={_STATIC!r}", calibration)
    check_no_loops(model)
    return named_feeds(model, samples, _AT_A_TIME)


def _quantise_by_recipe(content: bytes, recipe: Any, samples: Any, tool: Any) -> bytes:
    with tempfile.TemporaryDirectory(prefix="quickfit-") as folder:
        file = Path(folder) / "float.tflite"
        file.write_bytes(content)
        try:
            with capture_native_output() as said:
                work = tool.Quantizer(str(file), recipe)
                ranges = work.calibrate({_SIGNATURE: samples}) if samples else None
                return bytes(work.quantize(ranges).quantized_model)
        except (ValueError, RuntimeError, TypeError, KeyError, NotImplementedError) as error:
            reason = short_reason(str(error), said.text)
            raise ModelError(
                f"ai-edge-quantizer cannot quantise this model: {reason}.\n"
                "Another recipe may: weights-int8 asks the least of a model."
            ) from error


@dataclass(frozen=True)
class FileKind:
    """One kind of file.

    Args:
        needs_calibration: whether ranges of numbers are to be learned from samples.
        meaning: what it is, in words.
    """

    needs_calibration: bool
    meaning: str


FILE_KINDS = {
    "float32": FileKind(False, "the numbers of the Keras model"),
    "float16": FileKind(False, "weights of half the size, computed in float32"),
    "dynamic": FileKind(False, "weights in int8, activations quantised while it runs"),
    "int8": FileKind(True, "weights and activations in int8, float inputs and outputs"),
    "int8-full": FileKind(True, "everything in int8, inputs and outputs too"),
}


def file_kind(name: str) -> FileKind:
    """Return a kind.

    Raises:
        UsageError: there is none of this name.
    """
    if name not in FILE_KINDS:
        raise UsageError(f"kind={name!r}: there are {', '.join(FILE_KINDS)}.")
    return FILE_KINDS[name]


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


def check_target(path: Path) -> None:
    """Find out before the work whether its result can be written.

    Raises:
        UsageError: it is a folder, or in a folder that is missing or may not be written to.
    """
    if path.is_dir():
        raise UsageError(f"{path}: this is a folder. Give the name of a file in it.")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}.\n    mkdir -p {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{path}: nothing may be written to the folder {path.parent}.")


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in place of another in one step; after a failure the old one is as it was.

    Raises:
        UsageError: it cannot be written, such as on a disk that is full.
    """
    target = Path(os.path.realpath(path))  # a link stays one
    try:
        handle, aside = tempfile.mkstemp(dir=target.parent, prefix=".quickfit-")
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(content)
            os.chmod(aside, _file_mode(target))
            os.replace(aside, target)
        except BaseException:
            os.unlink(aside)
            raise
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}).") from error


def _file_mode(target: Path) -> int:
    """Return the permissions of the file that is replaced, or those that a new one gets."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def remarks_on(content: bytes, kind: str) -> tuple[str, ...]:
    """Return what is worth telling: operators of an int8 file that stayed in float.

    Without the runtime installed the file cannot be looked into, and nothing is told.
    """
    if not kind.startswith("int8") or importlib.util.find_spec("ai_edge_litert") is None:
        return ()
    floats = sorted(
        name
        for name, numbers in op_counts(content)
        if numbers.startswith("float") and name not in PLUMBING
    )
    if not floats:
        return ()
    return (f"These operators stayed in float: {', '.join(dict.fromkeys(floats))}.",)
