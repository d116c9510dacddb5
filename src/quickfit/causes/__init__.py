"""The catalogue: one file per cause, discovered by name. There is no list to edit."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import itertools
import pkgutil

from quickfit.causes._cause import Cause, example, silence_finding
from quickfit.code import Module, Program
from quickfit.code.conditions import dead_lines
from quickfit.findings import Change, Edit, Effect, Span, Spotted
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
    found = sorted(dict.fromkeys(found), key=lambda spot: (spot.where, spot.cause))
    return _one_per_line(found)


def _one_per_line(found: list[Spotted]) -> list[Spotted]:
    """Make one finding of those of one cause in one line, with the edits of all."""
    groups: dict[tuple[str, int, str, bool], list[Spotted]] = {}
    for spot in found:
        key = (spot.where.file, spot.where.line, spot.cause, spot.is_hint)
        groups.setdefault(key, []).append(spot)
    return [_joined(group) if len(group) > 1 else group[0] for group in groups.values()]


def _joined(group: list[Spotted]) -> Spotted:
    first = min(group, key=lambda spot: list(Effect).index(spot.effect))
    summaries = list(dict.fromkeys(spot.summary for spot in group))
    related = tuple(dict.fromkeys(each for spot in group for each in spot.related))
    changes = [spot.change for spot in group if spot.change is not None]
    edits = tuple(dict.fromkeys(edit for change in changes for edit in change.edits))
    is_one = len({change.kind for change in changes}) == 1
    if changes and is_one and not _collide(edits):
        change: Change | None = dataclasses.replace(changes[0], edits=edits)
    else:
        change = changes[0] if changes else None
    summary = "; ".join(summaries)
    return dataclasses.replace(first, summary=summary, related=related, change=change)


def _collide(edits: tuple[Edit, ...]) -> bool:
    ordered = sorted(edits, key=lambda edit: (edit.file, edit.begin, edit.end))
    pairs = itertools.pairwise(ordered)
    return any(one.file == other.file and one.end > other.begin for one, other in pairs)


def _is_within(where: Span, ranges: list[tuple[int, int]]) -> bool:
    return any(first <= where.line <= last for first, last in ranges)
