"""Numbers that are not finite: updates left out in time, and the first place that made them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.tuning.numerics.guard import guard_model
    from quickfit.tuning.numerics.guarded import GuardedOptimizer
    from quickfit.tuning.numerics.loss_scale import LossScaleWatch
    from quickfit.tuning.numerics.nan_search import find_nan
    from quickfit.tuning.numerics.nan_step import Culprit

__all__ = [
    "Culprit",
    "GuardedOptimizer",
    "LossScaleWatch",
    "find_nan",
    "guard_model",
]

_HOMES = {
    "Culprit": "nan_step",
    "GuardedOptimizer": "guarded",
    "LossScaleWatch": "loss_scale",
    "find_nan": "nan_search",
    "guard_model": "guard",
}


def __getattr__(name: str) -> Any:  # loaded when it is used
    if name in _HOMES:
        return getattr(import_module(f"quickfit.tuning.numerics.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.tuning.numerics' has no attribute {name!r}")


def __dir__() -> list[str]:  # for completion in notebooks
    return sorted({*globals(), *__all__})
