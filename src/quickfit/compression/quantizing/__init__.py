"""Models in small integers: files for LiteRT, training for int8, and Keras's own int8 and int4."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.compression.quantizing.advising import (
        advice_on_speed,
        advice_on_training,
        is_training_worth_it,
    )
    from quickfit.compression.quantizing.exporting import Exported, exported
    from quickfit.compression.quantizing.in_keras import keras_quantized
    from quickfit.compression.quantizing.recipes import exported_by_recipe
    from quickfit.compression.quantizing.simulating import fake_quantised, stripped

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
    "Exported": "exporting",
    "advice_on_speed": "advising",
    "advice_on_training": "advising",
    "exported": "exporting",
    "exported_by_recipe": "recipes",
    "fake_quantised": "simulating",
    "is_training_worth_it": "advising",
    "keras_quantized": "in_keras",
    "stripped": "simulating",
}


def __getattr__(name: str) -> Any:  # loaded when it is used: some of it needs Keras
    if name in _HOMES:
        return getattr(import_module(f"quickfit.compression.quantizing.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.compression.quantizing' has no attribute {name!r}")
