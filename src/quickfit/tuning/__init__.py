"""Training steps that are right on Keras 3, and what to do about values that are not finite.

TensorFlow is loaded when something here is used, not when this package is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.tuning.numerics import GuardedOptimizer, LossScaleWatch, find_nan, guard_model
    from quickfit.tuning.stepping import TrainStep, make_train_step

__all__ = [
    "GuardedOptimizer",
    "LossScaleWatch",
    "TrainStep",
    "find_nan",
    "guard_model",
    "make_train_step",
]

_HOMES = {
    "GuardedOptimizer": "numerics",
    "LossScaleWatch": "numerics",
    "TrainStep": "stepping",
    "find_nan": "numerics",
    "guard_model": "numerics",
    "make_train_step": "stepping",
}


def __getattr__(name: str) -> Any:  # loaded when it is used
    if name in _HOMES:
        return getattr(import_module(f"quickfit.tuning.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.tuning' has no attribute {name!r}")
