"""Training in 16 bits: whether it gains anything here, and a model that does it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.tuning.precision.advice import PrecisionAdvice, advise_precision
    from quickfit.tuning.precision.applying import apply_precision
    from quickfit.tuning.precision.hardware import Hardware, Prospect, prospect_of, read_hardware

__all__ = [
    "Hardware",
    "PrecisionAdvice",
    "Prospect",
    "advise_precision",
    "apply_precision",
    "prospect_of",
    "read_hardware",
]

_HOMES = {
    "Hardware": "hardware",
    "PrecisionAdvice": "advice",
    "Prospect": "hardware",
    "advise_precision": "advice",
    "apply_precision": "applying",
    "prospect_of": "hardware",
    "read_hardware": "hardware",
}


def __getattr__(name: str) -> Any:  # loaded when it is used
    if name in _HOMES:
        return getattr(import_module(f"quickfit.tuning.precision.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.tuning.precision' has no attribute {name!r}")


def __dir__() -> list[str]:  # for completion in notebooks
    return sorted({*globals(), *__all__})
