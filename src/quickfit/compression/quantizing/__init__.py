"""Models in small integers: files for LiteRT, training for int8, and Keras's own int8 and int4."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.compression.quantizing.advice import (
        advice_on_speed,
        advice_on_training,
        is_training_worth_it,
    )
    from quickfit.compression.quantizing.export import Exported, exported, exported_by_recipe
    from quickfit.compression.quantizing.fake_quantization import fake_quantised, stripped
    from quickfit.compression.quantizing.keras_quantization import keras_quantized

__all__ = [
    "Exported",
    "advice_on_speed",
    "advice_on_training",
    "exported",
    "exported_by_recipe",
    "fake_quantised",
    "is_training_worth_it",
    "keras_quantized",
    "stripped",
]

_HOMES = {
    "Exported": "export",
    "advice_on_speed": "advice",
    "advice_on_training": "advice",
    "exported": "export",
    "exported_by_recipe": "export",
    "fake_quantised": "fake_quantization",
    "is_training_worth_it": "advice",
    "keras_quantized": "keras_quantization",
    "stripped": "fake_quantization",
}


def __getattr__(name: str) -> Any:  # loaded when it is used
    if name in _HOMES:
        return getattr(import_module(f"quickfit.compression.quantizing.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.compression.quantizing' has no attribute {name!r}")


def __dir__() -> list[str]:  # for completion in notebooks
    return sorted({*globals(), *__all__})
