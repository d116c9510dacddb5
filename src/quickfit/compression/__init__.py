"""Smaller and faster models: separable convolutions, pruning, quantization, distillation.

TensorFlow is loaded when something here is used, not when this package is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.compression.distilling import fine_tuned
    from quickfit.compression.graph import copied
    from quickfit.compression.norms.folding import folded
    from quickfit.compression.norms.recalibration import recalibrated
    from quickfit.compression.pruning import MagnitudePruning, pruned
    from quickfit.compression.quantizing import (
        exported,
        exported_by_recipe,
        fake_quantised,
        keras_quantized,
        stripped,
    )
    from quickfit.compression.separable import rewritten
    from quickfit.compression.shrinking import shrink

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
    "MagnitudePruning": "pruning",
    "copied": "graph",
    "exported": "quantizing",
    "exported_by_recipe": "quantizing",
    "fake_quantised": "quantizing",
    "fine_tuned": "distilling",
    "folded": "norms.folding",
    "keras_quantized": "quantizing",
    "pruned": "pruning",
    "recalibrated": "norms.recalibration",
    "rewritten": "separable",
    "shrink": "shrinking",
    "stripped": "quantizing",
}


def __getattr__(name: str) -> Any:  # loaded when it is used
    if name in _HOMES:
        return getattr(import_module(f"quickfit.compression.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.compression' has no attribute {name!r}")


def __dir__() -> list[str]:  # for completion in notebooks
    return sorted({*globals(), *__all__})
