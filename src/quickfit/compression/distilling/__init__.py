"""Training of a student for a short time: on labels, or by a teacher where that is better."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.compression.distilling.fine_tuning import fine_tuned

__all__ = [
    "fine_tuned",
]

_HOMES = {
    "fine_tuned": "fine_tuning",
}


def __getattr__(name: str) -> Any:  # loaded when it is used
    if name in _HOMES:
        return getattr(import_module(f"quickfit.compression.distilling.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.compression.distilling' has no attribute {name!r}")


def __dir__() -> list[str]:  # for completion in notebooks
    return sorted({*globals(), *__all__})
