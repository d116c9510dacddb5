"""Models side by side: parameters, operations, size, speed and accuracy, measured in turns."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.compression.weighing.benchmark import weighed
    from quickfit.compression.weighing.comparison import Timing, Weight, remarks, speed_up

__all__ = [
    "Timing",
    "Weight",
    "remarks",
    "speed_up",
    "weighed",
]

_HOMES = {
    "Timing": "comparison",
    "Weight": "comparison",
    "remarks": "comparison",
    "speed_up": "comparison",
    "weighed": "benchmark",
}


def __getattr__(name: str) -> Any:  # loaded when it is used
    if name in _HOMES:
        return getattr(import_module(f"quickfit.compression.weighing.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.compression.weighing' has no attribute {name!r}")


def __dir__() -> list[str]:  # for completion in notebooks
    return sorted({*globals(), *__all__})
