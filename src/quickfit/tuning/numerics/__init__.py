"""Numbers that are not finite: updates left out in time, and the first place that made them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.tuning.numerics.culprit import Culprit
    from quickfit.tuning.numerics.finding import find_nan
    from quickfit.tuning.numerics.following import guard_model
    from quickfit.tuning.numerics.guarded import GuardedOptimizer
    from quickfit.tuning.numerics.scale import LossScaleWatch

__all__ = ["Culprit", "GuardedOptimizer", "LossScaleWatch", "find_nan", "guard_model"]

_HOMES = {
    "Culprit": "culprit",
    "GuardedOptimizer": "guarded",
    "LossScaleWatch": "scale",
    "find_nan": "finding",
    "guard_model": "following",
}


def __getattr__(name: str) -> Any:  # loaded when it is used: an optimizer needs Keras
    if name in _HOMES:
        return getattr(import_module(f"quickfit.tuning.numerics.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.tuning.numerics' has no attribute {name!r}")
