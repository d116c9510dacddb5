"""Compares what a pack was begun with to what it is asked to go on with."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from quickfit.data.packing import json_lines
from quickfit.data.packing.example import path_bytes
from quickfit.data.packing.layout import Layout
from quickfit.data.packing.manifest import Manifest
from quickfit.data.packing.settings import JPEG_SHORT_SIDE, QUALITY, RAW_SIDE
from quickfit.errors import PipelineError
from quickfit.units import size

_MOST_NAMES = 3


def begun(layout: Layout) -> dict[str, Any] | None:  # whatever JSON holds
    """Return what the pack in the folder was begun with: settings and sources; None if none was.

    Raises:
        PipelineError: what is there cannot be read.
    """
    for file in (layout.manifest, layout.plan):
        try:
            values = json_lines.read(file)
            if not all(
                isinstance(values.get(name) or {}, dict) for name in ("settings", "sources")
            ):
                raise ValueError("its settings or sources are no JSON object")
            return values
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            raise PipelineError(
                f"{file}: cannot be read: {str(error)[:200]}.\nTo make this pack anew:\n"
                f"    quickfit pack SRC {layout.folder} --restart"
            ) from error
    return None


def check_same(
    layout: Layout,
    before: dict[str, Any],
    now: dict[str, Any],
    listing: Iterable[dict[str, Any]] = (),
) -> None:
    """Compare what a pack was begun with to what it is asked to go on with.

    Args:
        layout: of the pack.
        before: settings and sources it was begun with.
        now: settings and sources it is asked to go on with.
        listing: what the source lists now, sorted by name.

    Raises:
        PipelineError: the settings or the source differ.
    """
    if "settings" not in before:
        raise PipelineError(
            f"{layout.folder}: a restart of this pack was interrupted. Repeat it:\n"
            f"    quickfit pack SRC {layout.folder} --restart"
        )
    differences = list(_settings_differences(before, now))
    old, new = (values.get("sources") or {} for values in (before, now))
    if any(old.get(name) != value for name, value in new.items()):
        differences.append(f"the source has changed: {_change(layout, old, new, listing)}")
    if differences:
        listed = "\n".join(f"  {one}" for one in differences)
        raise PipelineError(
            f"{layout.folder}: the pack in this folder was begun with something else:\n{listed}\n"
            "Go on as it was begun, name another folder, or make it anew:\n"
            f"    quickfit pack SRC {layout.folder} --restart"
        )


def check_there(layout: Layout, manifest: Manifest) -> None:
    """See that the shards of a finished pack are there, in their sizes, and can be read.

    Raises:
        PipelineError: one is not.
    """
    for shard in manifest.shards:
        if (what := _wrong(layout.folder / shard.file, shard.bytes)) is not None:
            raise _not_whole(layout, f"{shard.file} {what}")
    if manifest.rejected and not layout.rejected.is_file():
        raise _not_whole(layout, f"{layout.rejected.name} is missing")


def _not_whole(layout: Layout, what: str) -> PipelineError:
    return PipelineError(
        f"{layout.folder}: this pack was finished, but {what}.\n"
        f"See what else is wrong, or make it anew:\n    quickfit pack --verify "
        f"{layout.folder}\n    quickfit pack SRC {layout.folder} --restart"
    )


def _wrong(file: Path, size_bytes: int) -> str | None:
    """Return what can be seen to be wrong with a shard without reading all of it."""
    if not file.is_file():
        return "is missing"
    try:
        with file.open("rb") as stream:
            stream.read(1)
            found = os.fstat(stream.fileno()).st_size
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None if found == size_bytes else f"has {found:,} bytes, not {size_bytes:,}"


def _settings_differences(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    old, new = before.get("settings") or {}, now["settings"]
    is_other_form = old.get("form") != new["form"]
    for name, value in new.items():
        if old.get(name) == value:
            continue
        if is_other_form and all(_follows(name, settings) for settings in (old, new)):
            continue  # nobody chose it: it comes with the form
        then, is_now = (_shown_setting(name, v) for v in (old.get(name), value))
        yield f"{name.replace('_', ' ')} was {then}, and is now {is_now}"


def _follows(name: str, settings: dict[str, Any]) -> bool:
    """Return whether a setting is what its form brings with it."""
    form = settings.get("form")
    usual = {
        "size": {"jpeg256": JPEG_SHORT_SIDE, "raw": f"{RAW_SIDE}x{RAW_SIDE}"}.get(str(form)),
        "quality": QUALITY if form == "jpeg256" else None,
        "check": "quick" if form == "original" else "full",
    }
    return name in usual and settings.get(name) == usual[name]


def _shown_setting(name: str, value: object) -> str:
    if name == "shard_bytes" and isinstance(value, int):
        return size(value)
    return "not set" if value is None else str(value)


def _change(
    layout: Layout, old: dict[str, Any], new: dict[str, Any], listing: Iterable[dict[str, Any]]
) -> str:
    """Say in what two sources differ, with names."""
    before = layout.sources if layout.sources.exists() else layout.listing
    try:
        changes = list(islice(_changes(json_lines.read_lines(before), iter(listing)), 4))
    except (OSError, ValueError, KeyError, AttributeError):
        changes = []  # the numbers are enough
    some = ", ".join(changes[:_MOST_NAMES]) + (", …" if len(changes) > _MOST_NAMES else "")
    images = f"{old.get('count')} images before, {new.get('count')} now"
    return f"{images} ({some or 'the classes have other names'})"


def _changes(old: Iterator[dict[str, Any]], new: Iterator[dict[str, Any]]) -> Iterator[str]:
    """Yield the differences of two listings, both sorted by name."""
    left, right = next(old, None), next(new, None)
    while left is not None or right is not None:
        before, now = _name(left), _name(right)
        if left != right and before == now:
            yield f"{_shown(right)} has another size or label"
        elif before < now:
            yield f"{_shown(left)} is gone"
        elif now < before:
            yield f"{_shown(right)} is new"
        left = next(old, None) if before <= now else left
        right = next(new, None) if now <= before else right


def _name(values: dict[str, Any] | None) -> tuple[bool, bytes]:
    """Return what orders a listing; behind all names if it has ended."""
    return (True, b"") if values is None else (False, path_bytes(values["path"]))


def _shown(values: dict[str, Any] | None) -> str:
    return repr((values or {}).get("path"))
