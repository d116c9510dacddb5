"""Ends tf.data iterators beside the script, which then does not wait for them.

TensorFlow 2.21 waits for a pipeline's tuning thread when its iterator ends, up to as long as the
iterator is old (docs/decisions/0009, 0029). A thread of ours keeps the iterator's resource until
the iterator is gone, and drops it then: it waits, without Python's lock, and the script goes on.
The pipeline keeps its model, so the diagnosis loses nothing. Not for pipelines that run Python or
write a file: their end is something that the script may see.
"""

from __future__ import annotations

import functools
import threading
import weakref
from _queue import Empty, SimpleQueue
from typing import Any

from quickfit.probes._hooks import now
from quickfit.probes._places import Place
from quickfit.turbo import ledger

# An iterator gets its resource right after it was noticed. One that is gone by then is so young
# that its end takes less than this.
_SETTLING_S = 0.01
# At exit, as long as the script itself might have waited.
_LONGEST_END_S = 10.0
_STOP = 0


class _Endings:
    """The thread that ends iterators, and what it knows; all but `watch` runs on that thread."""

    def __init__(self) -> None:
        self.messages: SimpleQueue[Any] = SimpleQueue()
        self.entries: dict[int, ledger.Entry] = {}
        self._young: dict[int, weakref.ref[Any]] = {}
        self._watched: dict[int, weakref.ref[Any]] = {}
        self._resources: dict[int, Any] = {}
        self._number = _STOP
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self, iterator: Any, entry: ledger.Entry) -> None:
        """End this iterator here."""
        with self._lock:
            self._number += 1
            number = self._number
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="quickfit-end", daemon=True)
                self._thread.start()
        self.entries[number] = entry
        # Made of C alone: a finalizer in Python would swallow a Ctrl-C (decision 0009). The
        # reference is the second argument of `put`, which takes it for "may wait".
        gone = functools.partial(self.messages.put, number)
        self._watched[number] = weakref.ref(iterator, gone)
        self.messages.put(self._watched[number])

    def stop(self) -> None:
        """Let the thread end, once no end is under way."""
        if self._thread is not None:
            self.messages.put(_STOP)
            self._thread.join(_LONGEST_END_S)

    def _run(self) -> None:
        while True:
            try:
                message = self.messages.get(timeout=_SETTLING_S if self._young else None)
            except Empty:
                self._keep_resources()
                continue
            if message is _STOP:
                return
            if isinstance(message, int):
                self._end(message)
            else:
                self._young.update((n, r) for n, r in [*self._watched.items()] if r is message)

    def _keep_resources(self) -> None:
        for number, reference in self._young.items():
            iterator = reference()
            if iterator is not None:
                self._resources[number] = vars(iterator).get("_iterator_resource")
            del iterator
        self._young.clear()

    def _end(self, number: int) -> None:
        self._young.pop(number, None)
        self._watched.pop(number, None)
        entry = self.entries.pop(number, None)
        if self._resources.get(number) is None or entry is None:
            self._resources.pop(number, None)
            return
        began_s = now()
        del self._resources[number]
        entry.on_count += 1
        entry.saved_s = (entry.saved_s or 0.0) + now() - began_s


_endings = _Endings()


def end_aside(iterator: Any, place: Place | None) -> None:
    """End an iterator beside the script when the script drops it."""
    what = "the ends of iterators waited for on another thread"
    entry = ledger.Entry("iterator-end", place, what, unit="iterator")
    _endings.watch(iterator, ledger.entry_of(("end", place), entry))


def stop() -> None:
    """Wait for an end that is under way, as the script would have; end no more iterators."""
    _endings.stop()
