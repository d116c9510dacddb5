"""The catalogue: one file per cause, discovered by name. There is no list to edit."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import pkgutil

from quickfit.causes._cause import Cause, example, silence_finding
from quickfit.code import Module, Program
from quickfit.code.conditions import dead_lines
from quickfit.findings import Span, Spotted
from quickfit.liveness.reason import Mechanism

__all__ = ["Cause", "catalogue", "example", "scanned", "silence_finding", "stuck_mechanisms"]


@functools.cache
def catalogue() -> dict[str, Cause]:
    """Return every cause by its public id, in alphabetical order."""
    found: dict[str, Cause] = {}
    for package in pkgutil.iter_modules(__path__):
        if package.ispkg and not package.name.startswith("_"):
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
    fix = cause.fix
    if cause.advice is not None:
        shown = dataclasses.replace(cause.advice, example=example(page, "Use instead"))
        fix = lambda finding, signals: shown  # noqa: E731 - the same for every run
    return dataclasses.replace(cause, name=name, page=page, fix=fix)


@functools.cache
def stuck_mechanisms() -> tuple[Mechanism, ...]:
    """Return what shows why a run does not move, over all causes; the strongest proof first."""
    known = [mechanism for cause in catalogue().values() for mechanism in cause.live]
    return tuple(sorted(known, key=lambda mechanism: mechanism.proof))


def scanned(module: Module, program: Program) -> list[Spotted]:
    """Return what the text of one file proves, in the order of the text.

    A cause that fails on a text no test has thought of is noted in the program, and the others
    are asked all the same.
    """
    found: list[Spotted] = []
    for cause in catalogue().values():
        try:
            spots = list(cause.scan(module, program)) if cause.scan is not None else []
        except Exception as error:  # noqa: BLE001 - one bad cause must not take the others along
            what = f"{type(error).__name__}: {error}"
            program.notes.append(f"{module.path}: an error in quickfit: {cause.name}: {what}")
            continue
        found += [dataclasses.replace(s, cause=cause.name, title=cause.title) for s in spots]
    dead = dead_lines(module) if found else []
    found = [s for s in found if s.where.file != module.path or not _is_within(s.where, dead)]
    return sorted(dict.fromkeys(found), key=lambda spot: (spot.where, spot.cause))


def _is_within(where: Span, ranges: list[tuple[int, int]]) -> bool:
    return any(first <= where.line <= last for first, last in ranges)
