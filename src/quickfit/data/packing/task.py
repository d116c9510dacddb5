"""One pack to be made, whatever it is made from: its folder opened, compared, finished."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from quickfit import terminal
from quickfit.data.packing import comparing, destination, faults, json_lines
from quickfit.data.packing.layout import Layout
from quickfit.data.packing.manifest import KIND, VERSION, Manifest, read_manifest
from quickfit.data.packing.packed import Packed
from quickfit.data.packing.progress import Display, display
from quickfit.data.packing.settings import Settings


@dataclass(frozen=True)
class Task:
    """What was asked for.

    Args:
        layout: of the folder to write to.
        settings: how images are stored.
        workers: how many processes work; None leaves it to the pack.
        restarts: whether what is there is removed first.
        shows_progress: whether it is shown on stderr.
    """

    layout: Layout
    settings: Settings
    workers: int | None
    restarts: bool
    shows_progress: bool
    clock: Callable[[], float] = time.monotonic
    start_s: float = field(default_factory=time.monotonic)

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Hold the folder for this pack; whatever ends it, nothing half-written stays.

        Yields the descriptor of the lock, for workers.
        """
        destination.prepare(self.layout)
        with destination.locked(self.layout, self._tell) as lock:
            with faults.told(self.layout.folder):
                if self.restarts:
                    destination.clear(self.layout)
                destination.drop_unfinished(self.layout)
            try:
                yield lock
            finally:
                destination.drop_unfinished(self.layout)
                destination.drop_empty(self.layout)

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
        before = comparing.begun(self.layout)
        if before is not None:
            comparing.check_same(self.layout, before, now, listing)
        if self.layout.manifest.exists():
            destination.close(self.layout)
            manifest = read_manifest(self.layout.folder)
            comparing.check_there(self.layout, manifest)
            return self.packed(manifest, was_there=True)
        self.layout.partial.mkdir(exist_ok=True)
        return None

    def begin(self, sources: dict[str, Any]) -> None:
        """Note what the pack is begun with, to go on with the same."""
        values = {"kind": f"{KIND} plan", "version": VERSION, "settings": self.settings.as_json()}
        aside = self.layout.aside("plan", "json")
        json_lines.write(self.layout.plan, aside, values | {"sources": sources})
        # After the plan, which says whose folder it is.
        self.layout.indexes.mkdir(exist_ok=True)

    def _tell(self, message: str) -> None:
        if self.shows_progress:
            terminal.say(message)

    def display(self, images: int | None) -> Display:
        """Return what shows the progress."""
        return display(sys.stderr if self.shows_progress else None, images)

    def packed(self, manifest: Manifest, *, was_there: bool = False) -> Packed:
        """Return what the user gets."""
        return Packed(self.layout.folder, manifest, was_there, self.clock() - self.start_s)
