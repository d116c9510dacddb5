"""Times how long TensorFlow takes to end an iterator.

TensorFlow 2.21 waits for the thread that tunes a pipeline when its iterator is destroyed, up to
seconds at the end of every epoch, and nothing in Python shows it. A small object that is kept
beside the iterator's resource is destroyed right after it, and knows when.
"""

from __future__ import annotations

import weakref
from typing import Any

from quickfit.probes._state import Current, Loop, State, now

_NAME = "_quickfit_end"


class _End:
    """Destroyed when the iterator's resource has been."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.began_s = 0.0

    def begin(self, _: Any) -> None:
        self.began_s = now()

    def __del__(self) -> None:
        state = Current.state
        if state is not None and self.began_s:
            total: list[float] = state.kept.setdefault(("ends", self.loop.id), [0, 0.0, 0.0])
            took_s = now() - self.began_s
            total[0] += 1
            total[1] += took_s
            total[2] = max(total[2], took_s)


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
        end = attributes[_NAME] = _End(loop)
        watched.ending = weakref.ref(iterator, end.begin)


def write_totals(state: State) -> None:
    """Record how long the ends of each loop's iterators took."""
    for loop in state.loops:
        total = state.kept.get(("ends", loop.id))
        written = state.kept.get(("ends written", loop.id))
        if total is None or total[0] == written or loop.place is None:
            continue
        state.kept["ends written", loop.id] = total[0]
        where = (loop.id, "end", loop.place.file, loop.place.line, "iterator")
        state.writer.add("calls", (*where, int(total[0]), total[1], None, total[2]))
