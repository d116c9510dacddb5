"""Takes elements from a feed, pass after pass, counts them, and looks at the stages meanwhile."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from quickfit.data.speed import counting, machine
from quickfit.data.speed.feeds import Feed, failed_text, feed_errors
from quickfit.data.speed.figures import Span
from quickfit.data.speed.machine import Reading
from quickfit.errors import PipelineError
from quickfit.pipeline_model.snapshot import Snapshot

# While the first element of a pass is awaited, the stages are looked at after so long, then half
# as often each time: of a shuffle that holds everything, the stages before it end meanwhile.
FIRST_LOOK_S = 0.005
# Passes that begin faster are not looked at like that: it would disturb them.
MIN_WATCHED_S = 2 * FIRST_LOOK_S
# Passes of which the looks are kept.
MAX_PASSES = 40


@dataclass
class Pass:
    """One pass over the data: the looks at its stages, and the one with which counting began."""

    looks: list[Snapshot] = field(default_factory=list)
    begin: Snapshot | None = None


@dataclass(frozen=True)
class Mark:
    """How much had been taken at a moment."""

    elements: int
    examples: int
    reading: Reading


def between(first: Mark, last: Mark) -> Span:
    """Return what was taken between two marks, and what it took."""
    return Span(
        last.elements - first.elements,
        last.examples - first.examples,
        last.reading.at_s - first.reading.at_s,
        last.reading.cpu_s - first.reading.cpu_s,
    )


class Taker:
    """Takes elements one by one.

    Args:
        feed: where they come from.
        batch_size: examples in an element, if the user said so.
        read: returns the counters of the machine.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        feed: Feed,
        batch_size: int | None = None,
        read: Callable[[], Reading] = machine.read,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.feed = feed
        self.elements = self.examples = 0
        self.passes = 0  # that have ended
        self.begin_s = 0.0  # between the last element of a pass and the first of the next
        self.looked: list[Pass] = []
        self.first_element: Any = None
        self.first_pass: Span | None = None
        self._batch_size, self._read, self._clock = batch_size, read, clock
        self._count: Callable[[Any], int] | None = None
        self._iterator: Iterator[Any] | None = None
        self._in_pass, self._next_look = 0, 1
        self._last_begin_s = math.inf
        self.start = self.mark()

    def mark(self) -> Mark:
        """Return how much has been taken so far."""
        return Mark(self.elements, self.examples, self._read())

    def first(self) -> None:
        """Take the first element of all.

        Raises:
            PipelineError: there is none.
        """
        self.start = self.mark()
        if not self.begin():
            raise PipelineError(
                f"{self.feed.name}: it ended without a single element, so there is nothing to"
                " measure.\nCheck its files and filters: next(iter(dataset)) should return one."
            )

    def begin(self) -> bool:
        """Begin a pass and take its first element; False if there is none."""
        self._in_pass, self._next_look = 0, 1
        now = Pass()
        if len(self.looked) < MAX_PASSES:
            self.looked.append(now)
        began_s = self._clock()
        self._iterator = self.feed.begin()
        if self._iterator is None:
            return False
        with _Looking(self.feed, now, is_on=self._last_begin_s >= MIN_WATCHED_S):
            is_there = self.take_one()
        self._last_begin_s = self._clock() - began_s
        self.begin_s += self._last_begin_s
        return is_there

    def take_one(self) -> bool:
        """Take one element; False at the end of the pass."""
        if self._iterator is None:
            return False
        try:
            element = next(self._iterator)
        except StopIteration:
            self._end_pass()
            return False
        except feed_errors() as error:
            raise PipelineError(failed_text(self.feed.name, self.elements, error)) from error
        self._took(element)
        return True

    def step(self) -> bool:
        """Take one element, of a new pass if this one has ended; False if there are no more."""
        return self.take_one() or self.begin()

    def look(self) -> Snapshot | None:
        """Look at the stages, and keep what was seen with the pass."""
        snapshot = self.feed.look()
        if snapshot is not None and self.passes < len(self.looked):
            self.looked[self.passes].looks.append(snapshot)
        return snapshot

    def close(self) -> None:
        """Let go of the iterator, so that its threads end."""
        if self._iterator is not None:
            self._iterator = None
            self.feed.end()

    def _took(self, element: Any) -> None:
        if self._count is None:
            self.first_element = element
            self._count = counting.counter(
                element, is_batched=self.feed.is_batched, batch_size=self._batch_size
            )
        self.elements += 1
        self.examples += self._count(element)
        self._in_pass += 1
        if self._in_pass >= self._next_look:
            self._next_look *= 2
            self.look()

    def _end_pass(self) -> None:
        self._iterator = None
        if self.passes == 0:
            self.first_pass = between(self.start, self.mark())
        self.passes += 1
        began_s = self._clock()
        self.feed.end()
        self.begin_s += self._clock() - began_s


class _Looking:
    """Looks at the stages from a thread of its own while an element is awaited."""

    def __init__(self, feed: Feed, now: Pass, *, is_on: bool) -> None:
        self._feed, self._now = feed, now
        self._is_over = threading.Event()
        is_useful = is_on and feed.no_stages is None
        self._thread = threading.Thread(target=self._run, daemon=True) if is_useful else None

    def __enter__(self) -> None:
        if self._thread is not None:
            self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        wait_s = FIRST_LOOK_S
        while not self._is_over.wait(wait_s):
            snapshot = self._feed.look()
            if snapshot is not None:
                self._now.looks.append(snapshot)
            wait_s *= 1.5
