"""Times how long TensorFlow takes to end an iterator.

TensorFlow 2.21 waits for the thread that tunes a pipeline when its iterator is destroyed, up to
seconds at the end of every epoch, and nothing in Python shows it. A small object that is kept
beside the iterator's resource is destroyed right after it, and knows when.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

from quickfit.probes._hooks import paired, stamper
from quickfit.probes._state import Loop, State, now

_NAME = "_quickfit_end"


class _Marker:
    """Destroyed when the iterator's resource has been."""

    __slots__ = ("__weakref__",)


def watch(loop: Loop, state: State) -> None:
    """Time the end of the iterators that feed a loop, once TensorFlow has set them up."""
    for watched in state.iterators:
        iterator = watched.iterator()
        if watched.loop is not loop or iterator is None:
            continue
        attributes = vars(iterator)
        # Attributes are destroyed in the order in which they were set.
        if _NAME in attributes or "_iterator_resource" not in attributes:
            continue
        marker = attributes[_NAME] = _Marker()
        begins, ends = _stamps_of(loop, state)
        watched.ending = (weakref.ref(iterator, begins), weakref.ref(marker, ends))


def _stamps_of(loop: Loop, state: State) -> tuple[Any, Any]:
    """Return what notes the begin and the end of the ends of a loop's iterators."""
    known = state.kept.get(("end stamps", loop.id))
    if known is None:
        stamps: deque[float] = deque()
        notes = (stamper(stamps, now, is_begin=True), stamper(stamps, now))
        known = state.kept["end stamps", loop.id] = (stamps, notes)
    return known[1]


def _count(loop: Loop, state: State) -> list[float] | None:
    """Return how many ends a loop's iterators have had, how long they took, and the longest."""
    known = state.kept.get(("end stamps", loop.id))
    total: list[float] | None = state.kept.get(("ends", loop.id))
    if known is None:
        return total
    stamps = known[0]
    taken = [stamps.popleft() for _ in range(len(stamps) // 2 * 2)]
    for _, took_s in paired(taken):
        total = total or [0, 0.0, 0.0]
        total = [total[0] + 1, total[1] + took_s, max(total[2], took_s)]
    state.kept["ends", loop.id] = total
    return total


def write_totals(state: State) -> None:
    """Record how long the ends of each loop's iterators took."""
    for loop in state.loops:
        total = _count(loop, state)
        written = state.kept.get(("ends written", loop.id))
        if total is None or total[0] == written or loop.place is None:
            continue
        state.kept["ends written", loop.id] = total[0]
        where = (loop.id, "end", loop.place.file, loop.place.line, "iterator")
        state.writer.add("calls", (*where, int(total[0]), total[1], None, total[2]))
