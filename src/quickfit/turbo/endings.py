"""Has the ends of a script's iterators waited for on another thread (`data.iterator_ends`).

Not for pipelines that run Python or write a file: their end is something that the script may see.
The pipeline keeps its model, so the diagnosis loses nothing; and how long the script would have
waited is measured where it is waited.
"""

from __future__ import annotations

import weakref
from typing import Any

from quickfit.probes._places import Place
from quickfit.turbo import ledger

# Iterators that had no resource yet when they were noticed.
_young: list[tuple[weakref.ref[Any], ledger.Entry]] = []


def await_resource(iterator: Any, place: Place | None) -> None:
    """Take over the end of an iterator that is being made, once it is there."""
    what = "the ends of iterators waited for on another thread"
    entry = ledger.Entry("iterator-end", place, what, unit="iterator")
    _young.append((weakref.ref(iterator), ledger.entry_of(("end", place), entry)))


def take_over_ends() -> None:
    """Take over the ends of the iterators that are there now; at a script's next step they are."""
    if not _young:
        return
    from quickfit.data.iterator_ends import end_aside

    while _young:
        reference, entry = _young.pop()
        iterator = reference()
        if iterator is not None:
            end_aside(iterator, entry.add_wait)
