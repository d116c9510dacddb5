"""`exported_by_recipe`: files made smaller by the recipes of ai-edge-quantizer."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from quickfit.compression.quantizing.complaints import short_reason
from quickfit.compression.quantizing.exporting import (
    Exported,
    calibration_samples,
    float_content,
    written,
)
from quickfit.compression.quantizing.feeding import feeds
from quickfit.compression.quantizing.files import check_target
from quickfit.compression.quantizing.loops import check_no_loops
from quickfit.compression.quantizing.quiet import quiet
from quickfit.errors import ModelError, UsageError

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
    tool, makers = _packages()
    samples = _samples(model, calibration) if recipe == _STATIC else None
    made = float_content(model)
    content = _quantised(made.content, getattr(makers, RECIPES[recipe])(), samples, tool)
    return written(model, Path(path), recipe, content, made.notes)


def _packages() -> tuple[Any, Any]:
    try:
        from ai_edge_quantizer import quantizer, recipe
    except ImportError as error:
        raise ModelError(_MISSING) from error
    return quantizer, recipe


def _samples(model: Any, calibration: Any) -> list[dict[str, Any]]:
    samples = calibration_samples(model, f"recipe={_STATIC!r}", calibration)
    check_no_loops(model)
    return feeds(model, samples, _AT_A_TIME)


def _quantised(content: bytes, recipe: Any, samples: Any, tool: Any) -> bytes:
    with tempfile.TemporaryDirectory(prefix="quickfit-") as folder:
        file = Path(folder) / "float.tflite"
        file.write_bytes(content)
        try:
            with quiet() as said:
                work = tool.Quantizer(str(file), recipe)
                ranges = work.calibrate({_SIGNATURE: samples}) if samples else None
                return bytes(work.quantize(ranges).quantized_model)
        except (ValueError, RuntimeError, TypeError, KeyError, NotImplementedError) as error:
            reason = short_reason(str(error), said.text)
            raise ModelError(
                f"ai-edge-quantizer cannot quantise this model: {reason}.\n"
                "Another recipe may: weights-int8 asks the least of a model."
            ) from error
