"""Faster training that stays right: steps, precision, batch sizes, and values that are not finite.

TensorFlow is loaded when something here is used, not when this package is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.tuning.advice import Advice, advise
    from quickfit.tuning.batches import BatchPlan, find_batch_size
    from quickfit.tuning.numerics import GuardedOptimizer, LossScaleWatch, find_nan, guard_model
    from quickfit.tuning.precision import PrecisionAdvice, advise_precision, apply_precision
    from quickfit.tuning.stepping import TrainStep, make_train_step

__all__ = [
    "Advice",
    "BatchPlan",
    "GuardedOptimizer",
    "LossScaleWatch",
    "PrecisionAdvice",
    "TrainStep",
    "advise",
    "advise_precision",
    "apply_precision",
    "find_batch_size",
    "find_nan",
    "guard_model",
    "make_train_step",
]

_HOMES = {
    "Advice": "advice",
    "BatchPlan": "batches",
    "GuardedOptimizer": "numerics",
    "LossScaleWatch": "numerics",
    "PrecisionAdvice": "precision",
    "TrainStep": "stepping",
    "advise": "advice",
    "advise_precision": "precision",
    "apply_precision": "precision",
    "find_batch_size": "batches",
    "find_nan": "numerics",
    "guard_model": "numerics",
    "make_train_step": "stepping",
}


def __getattr__(name: str) -> Any:  # loaded when it is used
    if name in _HOMES:
        return getattr(import_module(f"quickfit.tuning.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.tuning' has no attribute {name!r}")


def __dir__() -> list[str]:  # for completion in notebooks
    return sorted({*globals(), *__all__})
