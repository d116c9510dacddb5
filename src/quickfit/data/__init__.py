"""Fast input by default: pipelines for images, records and Python functions, and packs.

Everything here returns a plain `tf.data.Dataset`. TensorFlow is loaded when a pipeline is made,
not when this package is imported: the processes that pack do without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit.data.acceleration import accelerate
    from quickfit.data.image_pipeline import images
    from quickfit.data.packing import pack
    from quickfit.data.record_pipeline import records
    from quickfit.data.speed import measure
    from quickfit.data.workers import generator

__all__ = ["accelerate", "generator", "images", "measure", "pack", "records"]

# No package here has the name of a function: importing it would hide the function.
_HOMES = {
    "accelerate": "acceleration",
    "generator": "workers",
    "images": "image_pipeline",
    "measure": "speed",
    "pack": "packing",
    "records": "record_pipeline",
}


def __getattr__(name: str) -> Any:  # loaded when it is used
    if name in _HOMES:
        return getattr(import_module(f"quickfit.data.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'quickfit.data' has no attribute {name!r}")


def __dir__() -> list[str]:  # for completion in notebooks
    return sorted({*globals(), *__all__})
