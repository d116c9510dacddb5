"""Models side by side: parameters, operations, size, speed and accuracy, measured in turns."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.compression.weighing.comparing import remarks, speed_up
    from quickfit.compression.weighing.scales import weighed
    from quickfit.compression.weighing.weight import Timing, Weight

__all__ = ["Timing", "Weight", "remarks", "speed_up", "weighed"]

_HOMES = {
    "Timing": "weight",
    "Weight": "weight",
    "remarks": "comparing",
    "speed_up": "comparing",
    "weighed": "scales",
}


def __getattr__(name: str) -> Any:  # loaded when it is used: some of it needs Keras
    if name in _HOMES:
        return getattr(import_module(f"quickfit.compression.weighing.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.compression.weighing' has no attribute {name!r}")
