"""Keeps what was done at which line of the script, and what was left alone, for the recording."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.probes._places import Place
from quickfit.probes._state import Current
from quickfit.turbo.turns import Turns

# Places in the recording: a script that builds a new dataset in every step has no end of them.
MAX_ENTRIES = 200


@dataclass
class Entry:
    """One place of the script.

    Args:
        kind: `predict` or `iterator-end`.
        what: what is done there, or what it is that was left alone.
        reason: why it was left alone; None: it was not.
        cause: the cause whose edit does the same in the script.
        unit: what is counted: `call` or `iterator`.
        turns: what both ways took.
    """

    kind: str
    place: Place | None
    what: str
    reason: str | None = None
    cause: str | None = None
    unit: str = "call"
    turns: Turns | None = None
    number: int = 0
    # Known without turns: waits that another thread had.
    on_count: int = 0
    saved_s: float | None = None

    def add_wait(self, seconds: float) -> None:
        """Count a wait that another thread had."""
        self.on_count += 1
        self.saved_s = (self.saved_s or 0.0) + seconds

    @property
    def state(self) -> str:
        """`left`, `kept`, `dropped` or `open`: not measured to the end."""
        if self.reason is not None:
            return "left"
        if self.turns is None:
            return "kept"
        return {True: "kept", False: "dropped", None: "open"}[self.turns.is_faster]


_entries: dict[object, Entry] = {}


def entry_of(key: object, entry: Entry) -> Entry:
    """Return the entry of a key, which is `entry` if it is the first."""
    known = _entries.get(key)
    if known is None:
        known = entry
        if len(_entries) < MAX_ENTRIES:
            known.number = len(_entries) + 1
            _entries[key] = known
            write_entry(known)
    return known


def write_entry(entry: Entry) -> None:
    """Record an entry as it is now."""
    state = Current.state
    if state is None or not entry.number:
        return
    place = state.source(entry.place)
    file, line = (place.file, place.line) if place else (None, None)
    about = (entry.what, entry.state, entry.reason, entry.cause, entry.unit)
    state.writer.add("turbo", (entry.number, entry.kind, file, line, *about, *_figures(entry)))


def _figures(entry: Entry) -> tuple[int, float | None, int, float | None, float | None]:
    turns = entry.turns
    if turns is None:
        return entry.on_count, None, 0, None, entry.saved_s
    return (
        *(turns.on.count, turns.on.typical_s),
        *(turns.off.count, turns.off.typical_s, turns.saved_s),
    )


def write_entries() -> None:
    """Record all entries as they are now."""
    for entry in list(_entries.values()):
        write_entry(entry)
