"""Iterators that end on a thread of their own.

TensorFlow waits, when an iterator is destroyed, for the thread that tunes its pipeline. That
thread may sleep on for as long as the iterator was old, so the script would stand still at the end
of an epoch. Here the last reference to an iterator's resource is dropped by another thread.
(docs/decisions/0034)
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from _queue import SimpleQueue  # a script may have a `queue` of its own
from collections.abc import Callable
from time import perf_counter
from typing import Any

from quickfit.data.graph import Dataset

# A pipeline that does not end must not keep a script from ending.
_LONGEST_S = 10.0


class _IteratorRef(weakref.ref):  # type: ignore[type-arg] # of any iterator
    """A weak reference to an iterator that holds on to its resource."""

    __slots__ = ("dataset", "note_end", "resource")
    resource: Any
    note_end: Callable[[float], None] | None
    dataset: Dataset  # calls of the pipeline into Python may need it to the end

    def drop(self) -> None:
        """Drop the resource, which may wait for threads of TensorFlow."""
        began_s = perf_counter()
        self.resource = None
        self.dataset = None
        if self.note_end is not None:
            self.note_end(perf_counter() - began_s)


class _IteratorEnds:
    """Drops the resources of iterators that are gone."""

    def __init__(self) -> None:
        self._inherited: list[object] = []
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._gone: SimpleQueue[_IteratorRef | None] = SimpleQueue()
        self._refs: set[_IteratorRef] = set()
        self._thread: threading.Thread | None = None

    def _begin_in_child(self) -> None:
        """Start anew after a fork; what was the parent's has no threads here that could end it."""
        self._inherited += [self._gone, self._refs]
        self._begin()

    def watch(self, iterator: Any, note_end: Callable[[float], None] | None = None) -> None:
        """Take over the end of an iterator; `note_end` gets the seconds that it took."""
        resource = getattr(iterator, "_iterator_resource", None)
        if resource is None:
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run,
                    args=(self._gone, self._refs),
                    daemon=True,
                    name="iterator-ends",
                )
                self._thread.start()
                atexit.register(self._finish)
                os.register_at_fork(after_in_child=self._begin_in_child)
        # What runs when the iterator goes is C alone: a Ctrl-C in a finalizer of Python is lost.
        ref = _IteratorRef(iterator, self._gone.put)
        ref.resource, ref.dataset = resource, getattr(iterator, "_dataset", None)
        ref.note_end = note_end
        self._refs.add(ref)

    @staticmethod
    def _run(gone: SimpleQueue[_IteratorRef | None], refs: set[_IteratorRef]) -> None:
        while (ref := gone.get()) is not None:
            refs.discard(ref)
            ref.drop()

    def _finish(self) -> None:
        thread, self._thread = self._thread, None
        for ref in list(self._refs):
            if ref() is not None:  # it ends with the interpreter, as without us
                self._refs.discard(ref)
                ref.drop()
        self._gone.put(None)
        if thread is not None:
            thread.join(_LONGEST_S)


_ENDS = _IteratorEnds()


def end_aside(iterator: Any, note_end: Callable[[float], None] | None = None) -> None:
    """Let another thread wait for the end of an iterator, and `note_end` know how long."""
    _ENDS.watch(iterator, note_end)


def end_iterators_aside(dataset: Dataset) -> Dataset:
    """Return the same dataset; the script does not wait for the end of its iterators.

    Its class becomes one of its own that differs in nothing else.
    """
    kind = type(dataset)

    def begin(self: Dataset) -> Any:
        iterator = kind.__iter__(self)
        _ENDS.watch(iterator)
        return iterator

    dataset.__class__ = type(kind.__name__, (kind,), {"__iter__": begin})
    return dataset
