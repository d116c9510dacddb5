"""`exported`: a Keras model as a `.tflite` file in float32, float16 or int8."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickfit.compression.quantizing.converting import Converted, converted
from quickfit.compression.quantizing.feeding import feeds, finite_samples
from quickfit.compression.quantizing.files import check_target, write_whole
from quickfit.compression.quantizing.in_keras import is_keras_quantized
from quickfit.compression.quantizing.kinds import kind_named, operators_of, options_of
from quickfit.compression.quantizing.loops import check_no_loops
from quickfit.compression.quantizing.naming import input_names
from quickfit.compression.quantizing.precision import in_float32
from quickfit.compression.quantizing.remarks import remarks_on
from quickfit.compression.quantizing.simulating import is_fake_quantised, stripped, with_ranges
from quickfit.compression.walking.kinds import graph_body
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
    kind_named(kind)
    check_target(Path(path))
    made = _converted(model, kind, calibration)
    return written(model, Path(path), kind, made.content, made.notes)


def written(model: Any, path: Path, kind: str, content: bytes, notes: tuple[str, ...]) -> Exported:
    """Write the content of a file, and say what it is."""
    write_whole(path, content)
    remarks = (*notes, *remarks_on(content, kind))
    return Exported(path, kind, len(content), input_names(model), remarks)


def float_content(model: Any) -> Converted:
    """Return a model as the content of a file in float32."""
    return _converted(model, "float32", None)


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


def _converted(model: Any, kind: str, calibration: Any) -> Converted:
    _check(model)
    options, operators = options_of(kind), operators_of(kind)
    needs_ranges = kind_named(kind).needs_calibration
    if is_fake_quantised(model):
        plain = with_ranges(model) if needs_ranges else stripped(model)
        # The set of operators in nothing but int8 is for samples, which are not needed here.
        return converted(plain, options, operators="TFLITE_BUILTINS")
    if needs_ranges:
        samples = feeds(model, calibration_samples(model, f"kind={kind!r}", calibration))
        check_no_loops(model)
        options["representative_dataset"] = lambda: iter(samples)
    return converted(in_float32(model), options, operators=operators)


def _check(model: Any) -> None:
    import keras

    if not isinstance(model, keras.Model):
        graph_body(model)  # says what to give
    if is_keras_quantized(model):
        raise ModelError(
            f"The model '{model.name}' is in Keras's own int8 or int4, which LiteRT cannot take "
            "over. Export the float model it was made from: exported(model, path, 'int8', samples)."
        )
