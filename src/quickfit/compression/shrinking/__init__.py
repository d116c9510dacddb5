"""A model made smaller in many ways; what is measured to be better is kept."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.compression.shrinking.result import Shrunk
    from quickfit.compression.shrinking.session import shrink
    from quickfit.compression.shrinking.targets import Target

__all__ = [
    "Shrunk",
    "Target",
    "shrink",
]

_HOMES = {
    "Shrunk": "result",
    "Target": "targets",
    "shrink": "session",
}


def __getattr__(name: str) -> Any:  # loaded when it is used
    if name in _HOMES:
        return getattr(import_module(f"quickfit.compression.shrinking.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.compression.shrinking' has no attribute {name!r}")


def __dir__() -> list[str]:  # for completion in notebooks
    return sorted({*globals(), *__all__})
