"""Training of a student for a short time: on labels, or by a teacher where that is better."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.compression.distilling.fine_tuning import fine_tuned

__all__ = ["fine_tuned"]


def __getattr__(name: str) -> Any:  # loaded when it is used: some of it needs Keras
    if name in __all__:
        return getattr(import_module("quickfit.compression.distilling.fine_tuning"), name)
    raise AttributeError(f"module 'quickfit.compression.distilling' has no attribute {name!r}")
