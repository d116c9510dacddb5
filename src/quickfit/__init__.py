"""quickfit: why is this Keras/TensorFlow training slow, stuck or slowing down.

`import quickfit` loads no TensorFlow. `quickfit.Watch` records and reports from inside a script;
`quickfit.data` builds fast input, `quickfit.tuning` fast steps, `quickfit.compression` smaller
models. In a notebook, `%load_ext quickfit` adds the magics `%%quickfit` and `%quickfit report`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quickfit import compression, data, tuning
    from quickfit.integrations.watch import Watch

__version__ = "0.1.0"

__all__ = ["Watch", "__version__", "compression", "data", "tuning"]


def load_ipython_extension(shell: Any) -> None:  # IPython's InteractiveShell
    """Add the magics to a notebook; `%load_ext quickfit` calls this."""
    from quickfit.integrations.notebook import load_ipython_extension

    load_ipython_extension(shell)


def __getattr__(name: str) -> Any:  # loaded when it is used: the probes import this package too
    if name == "Watch":
        from quickfit.integrations.watch import Watch

        return Watch
    if name in ("compression", "data", "tuning"):
        return import_module(f"quickfit.{name}")
    raise AttributeError(f"module 'quickfit' has no attribute {name!r}")
