"""The catalogue: one file per cause, discovered by name. There is no list to edit."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import pkgutil

from quickfit.causes._cause import Cause, example, silence_finding

__all__ = ["Cause", "catalogue", "example", "silence_finding"]


@functools.cache
def catalogue() -> dict[str, Cause]:
    """Return every cause by its public id, in alphabetical order."""
    found: dict[str, Cause] = {}
    for package in pkgutil.iter_modules(__path__):
        if package.ispkg:
            path = importlib.import_module(f"{__name__}.{package.name}").__path__
            for module in pkgutil.iter_modules(path):
                cause = _load(f"{__name__}.{package.name}.{module.name}")
                found[cause.name] = cause
    return dict(sorted(found.items()))


def _load(module_name: str) -> Cause:
    module = importlib.import_module(module_name)
    name = module_name.rsplit(".", 1)[1].replace("_", "-")
    page = inspect.cleandoc(module.__doc__ or "")
    cause: Cause = module.CAUSE
    return dataclasses.replace(cause, name=name, page=page)
