"""Smaller and faster models: separable convolutions, pruning, quantization, distillation.

TensorFlow is loaded when something here is used, not when this package is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.compression.batch_norm import folded, recalibrated
    from quickfit.compression.copying import copied
    from quickfit.compression.distilling.fine_tuning import fine_tuned
    from quickfit.compression.pruning.magnitude import MagnitudePruning
    from quickfit.compression.pruning.structured import pruned
    from quickfit.compression.quantizing.export import exported, exported_by_recipe
    from quickfit.compression.quantizing.fake_quantization import fake_quantised, stripped
    from quickfit.compression.quantizing.keras_quantization import keras_quantized
    from quickfit.compression.separable.rewriting import rewritten
    from quickfit.compression.shrinking.session import shrink

__all__ = [
    "MagnitudePruning",
    "copied",
    "exported",
    "exported_by_recipe",
    "fake_quantised",
    "fine_tuned",
    "folded",
    "keras_quantized",
    "pruned",
    "recalibrated",
    "rewritten",
    "shrink",
    "stripped",
]

_HOMES = {
    "MagnitudePruning": "pruning.magnitude",
    "copied": "copying",
    "exported": "quantizing.export",
    "exported_by_recipe": "quantizing.export",
    "fake_quantised": "quantizing.fake_quantization",
    "fine_tuned": "distilling.fine_tuning",
    "folded": "batch_norm",
    "keras_quantized": "quantizing.keras_quantization",
    "pruned": "pruning.structured",
    "recalibrated": "batch_norm",
    "rewritten": "separable.rewriting",
    "shrink": "shrinking.session",
    "stripped": "quantizing.fake_quantization",
}


def __getattr__(name: str) -> Any:  # loaded when it is used
    if name in _HOMES:
        return getattr(import_module(f"quickfit.compression.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.compression' has no attribute {name!r}")


def __dir__() -> list[str]:  # for completion in notebooks
    return sorted({*globals(), *__all__})
