"""The user's function on its way to a child, which never runs their script again."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from quickfit.errors import ModelError


def packed(function: Callable[..., Any], name: str) -> bytes:
    """Return a function as bytes, with everything it refers to.

    Raises:
        ModelError: part of it exists only in this process.
    """
    import cloudpickle

    try:
        with _by_value(_homes(function)):
            return bytes(cloudpickle.dumps(function))
    except Exception as error:  # noqa: BLE001 - objects of users and libraries refuse in any way
        line = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise ModelError(
            f"{name} cannot be taken to another process ({line}).\n"
            "Trials run in processes of their own. Make the model and the data inside the "
            "function, or put the function in a file and name it: module:function"
        ) from None


def _homes(function: Any) -> list[ModuleType]:  # Any: the user's
    """Return the modules of a function that a new interpreter could not import."""
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    home = sys.modules.get(str(getattr(inner, "__module__", None) or type(inner).__module__))
    return [] if home is None or _is_importable(home) else [home]


def _is_importable(module: ModuleType) -> bool:
    # cloudpickle takes what is in __main__ along by itself. For others the finders are asked,
    # not the module's own record of where it came from, which a test runner may have made up.
    top = module.__name__.partition(".")[0]
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_spec")]
    return (
        top == "__main__"
        or top in sys.stdlib_module_names
        or any(finder.find_spec(top, None) is not None for finder in finders)
    )


@contextmanager
def _by_value(modules: list[ModuleType]) -> Iterator[None]:
    import cloudpickle

    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
