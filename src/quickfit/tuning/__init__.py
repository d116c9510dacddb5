"""Faster training that stays right: steps, precision, batch sizes, non-finite values.

TensorFlow is loaded when something here is used, not when this package is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.tuning.advice.result import Advice
    from quickfit.tuning.advice.session import advise
    from quickfit.tuning.batch_size.finder import find_batch_size
    from quickfit.tuning.batch_size.plan import BatchPlan
    from quickfit.tuning.numerics.guard import guard_model
    from quickfit.tuning.numerics.guarded import GuardedOptimizer
    from quickfit.tuning.numerics.loss_scale import LossScaleWatch
    from quickfit.tuning.numerics.nan_search import find_nan
    from quickfit.tuning.precision.advice import PrecisionAdvice, advise_precision
    from quickfit.tuning.precision.applying import apply_precision
    from quickfit.tuning.train_step.step import TrainStep, make_train_step

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
    "Advice": "advice.result",
    "BatchPlan": "batch_size.plan",
    "GuardedOptimizer": "numerics.guarded",
    "LossScaleWatch": "numerics.loss_scale",
    "PrecisionAdvice": "precision.advice",
    "TrainStep": "train_step.step",
    "advise": "advice.session",
    "advise_precision": "precision.advice",
    "apply_precision": "precision.applying",
    "find_batch_size": "batch_size.finder",
    "find_nan": "numerics.nan_search",
    "guard_model": "numerics.guard",
    "make_train_step": "train_step.step",
}


def __getattr__(name: str) -> Any:  # loaded when it is used
    if name in _HOMES:
        return getattr(import_module(f"quickfit.tuning.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.tuning' has no attribute {name!r}")


def __dir__() -> list[str]:  # for completion in notebooks
    return sorted({*globals(), *__all__})
