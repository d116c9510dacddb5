"""Begins or resumes a pack: compares what it was begun with to what is asked for now."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from quickfit import terminal
from quickfit.data.packing import destination
from quickfit.data.packing.manifest import (
    MANIFEST_KIND,
    MANIFEST_VERSION,
    Manifest,
    PackLayout,
    read_json,
    read_json_lines,
    read_manifest,
    write_json,
)
from quickfit.data.packing.plan import JPEG_QUALITY, JPEG_SHORT_SIDE, RAW_SIDE, PackSettings
from quickfit.data.packing.report import Packed, ProgressDisplay, progress_display
from quickfit.data.tfrecord import path_bytes
from quickfit.errors import PipelineError
from quickfit.units import size

_MOST_NAMES = 3


def read_begun(layout: PackLayout) -> dict[str, Any] | None:  # whatever JSON holds
    """Return what the pack in the folder was begun with: settings and sources; None if none was.

    Raises:
        PipelineError: what is there cannot be read.
    """
    for file in (layout.manifest, layout.plan):
        try:
            values = read_json(file)
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
    layout: PackLayout,
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
        differences.append(f"the source has changed: {_source_change(layout, old, new, listing)}")
    if differences:
        listed = "\n".join(f"  {one}" for one in differences)
        raise PipelineError(
            f"{layout.folder}: the pack in this folder was begun with something else:\n{listed}\n"
            "Go on as it was begun, name another folder, or make it anew:\n"
            f"    quickfit pack SRC {layout.folder} --restart"
        )


def check_shards_present(layout: PackLayout, manifest: Manifest) -> None:
    """See that the shards of a finished pack are there, in their sizes, and can be read.

    Raises:
        PipelineError: one is not.
    """
    for shard in manifest.shards:
        if (what := _shard_damage(layout.folder / shard.file, shard.bytes)) is not None:
            raise _incomplete_text(layout, f"{shard.file} {what}")
    if manifest.rejected and not layout.rejected.is_file():
        raise _incomplete_text(layout, f"{layout.rejected.name} is missing")


def _incomplete_text(layout: PackLayout, what: str) -> PipelineError:
    return PipelineError(
        f"{layout.folder}: this pack was finished, but {what}.\n"
        f"See what else is wrong, or make it anew:\n    quickfit pack --verify "
        f"{layout.folder}\n    quickfit pack SRC {layout.folder} --restart"
    )


def _shard_damage(file: Path, size_bytes: int) -> str | None:
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
        if is_other_form and all(_follows_form(name, settings) for settings in (old, new)):
            continue  # nobody chose it: it comes with the form
        then, is_now = (_format_setting(name, v) for v in (old.get(name), value))
        yield f"{name.replace('_', ' ')} was {then}, and is now {is_now}"


def _follows_form(name: str, settings: dict[str, Any]) -> bool:
    """Return whether a setting is what its form brings with it."""
    form = settings.get("form")
    usual = {
        "size": {"jpeg256": JPEG_SHORT_SIDE, "raw": f"{RAW_SIDE}x{RAW_SIDE}"}.get(str(form)),
        "quality": JPEG_QUALITY if form == "jpeg256" else None,
        "check": "quick" if form == "original" else "full",
    }
    return name in usual and settings.get(name) == usual[name]


def _format_setting(name: str, value: object) -> str:
    if name == "shard_bytes" and isinstance(value, int):
        return size(value)
    return "not set" if value is None else str(value)


def _source_change(
    layout: PackLayout, old: dict[str, Any], new: dict[str, Any], listing: Iterable[dict[str, Any]]
) -> str:
    """Say in what two sources differ, with names."""
    before = layout.sources if layout.sources.exists() else layout.listing
    try:
        changes = list(islice(_listing_changes(read_json_lines(before), iter(listing)), 4))
    except (OSError, ValueError, KeyError, AttributeError):
        changes = []  # the numbers are enough
    some = ", ".join(changes[:_MOST_NAMES]) + (", …" if len(changes) > _MOST_NAMES else "")
    images = f"{old.get('count')} images before, {new.get('count')} now"
    return f"{images} ({some or 'the classes have other names'})"


def _listing_changes(old: Iterator[dict[str, Any]], new: Iterator[dict[str, Any]]) -> Iterator[str]:
    """Yield the differences of two listings, both sorted by name."""
    left, right = next(old, None), next(new, None)
    while left is not None or right is not None:
        before, now = _listing_key(left), _listing_key(right)
        if left != right and before == now:
            yield f"{_format_path(right)} has another size or label"
        elif before < now:
            yield f"{_format_path(left)} is gone"
        elif now < before:
            yield f"{_format_path(right)} is new"
        left = next(old, None) if before <= now else left
        right = next(new, None) if now <= before else right


def _listing_key(values: dict[str, Any] | None) -> tuple[bool, bytes]:
    """Return what orders a listing; behind all names if it has ended."""
    return (True, b"") if values is None else (False, path_bytes(values["path"]))


def _format_path(values: dict[str, Any] | None) -> str:
    return repr((values or {}).get("path"))


@dataclass(frozen=True)
class PackTask:
    """What was asked for.

    Args:
        layout: of the folder to write to.
        settings: how images are stored.
        workers: how many processes work; None leaves it to the pack.
        restarts: whether what is there is removed first.
        shows_progress: whether it is shown on stderr.
    """

    layout: PackLayout
    settings: PackSettings
    workers: int | None
    restarts: bool
    shows_progress: bool
    clock: Callable[[], float] = time.monotonic
    start_s: float = field(default_factory=time.monotonic)

    @contextmanager
    def open_locked(self) -> Iterator[int]:
        """Hold the folder for this pack; whatever ends it, nothing half-written stays.

        Yields the descriptor of the lock, for workers.
        """
        destination.prepare_folder(self.layout)
        with destination.lock_folder(self.layout, self._say_waiting) as lock:
            with destination.writing_errors(self.layout.folder):
                if self.restarts:
                    destination.clear_folder(self.layout)
                destination.drop_partial_files(self.layout)
            try:
                yield lock
            finally:
                destination.drop_partial_files(self.layout)
                destination.drop_empty_folder(self.layout)

    def finished_before(
        self, sources: dict[str, Any], listing: Iterable[dict[str, Any]] = ()
    ) -> Packed | None:  # whatever JSON holds
        """Return the pack if the folder has it already; else see that it can go on there.

        Args:
            sources: what identifies the source.
            listing: what the source lists, to say what has changed.

        Raises:
            PipelineError: what is there was begun with something else.
        """
        now = {"settings": self.settings.as_json(), "sources": sources}
        before = read_begun(self.layout)
        if before is not None:
            check_same(self.layout, before, now, listing)
        if self.layout.manifest.exists():
            destination.drop_unfinished_files(self.layout)
            manifest = read_manifest(self.layout.folder)
            check_shards_present(self.layout, manifest)
            return self.packed(manifest, was_there=True)
        self.layout.partial.mkdir(exist_ok=True)
        return None

    def begin(self, sources: dict[str, Any]) -> None:
        """Note what the pack is begun with, to go on with the same."""
        values = {
            "kind": f"{MANIFEST_KIND} plan",
            "version": MANIFEST_VERSION,
            "settings": self.settings.as_json(),
        }
        aside = self.layout.aside("plan", "json")
        write_json(self.layout.plan, aside, values | {"sources": sources})
        # After the plan, which says whose folder it is.
        self.layout.indexes.mkdir(exist_ok=True)

    def _say_waiting(self, message: str) -> None:
        if self.shows_progress:
            terminal.say(message)

    def display(self, images: int | None) -> ProgressDisplay:
        """Return what shows the progress."""
        return progress_display(sys.stderr if self.shows_progress else None, images)

    def packed(self, manifest: Manifest, *, was_there: bool = False) -> Packed:
        """Return what the user gets."""
        return Packed(self.layout.folder, manifest, was_there, self.clock() - self.start_s)
