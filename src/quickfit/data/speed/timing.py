"""Measures a feed for some seconds: a warm-up, then blocks of which each is timed.

In the warm-up, autotune settles and files get into the page cache. A pipeline whose data ends
within it is then measured over whole passes, because filling a shuffle buffer is a part of each
pass; a longer one is measured from where it stands.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from quickfit.data.speed import machine
from quickfit.data.speed.feeds import Feed
from quickfit.data.speed.figures import Span
from quickfit.data.speed.machine import Reading
from quickfit.data.speed.taking import Mark, Pass, Taker, between

BLOCKS = 10
# A pass that is wanted to its end may take this many times what was asked for.
MAX_PASS = 3.0
# How often what is going on is told.
_TELL_S = 0.25


@dataclass(frozen=True)
class Plan:
    """How long to measure, and what is known of the elements.

    `tell` is called now and then with what is going on, and the share that is done.
    """

    seconds: float = 5.0
    warmup_s: float = 2.0
    batch_size: int | None = None
    tell: Callable[[str, float], None] = lambda what, share: None
    clock: Callable[[], float] = time.perf_counter
    read: Callable[[], Reading] = machine.read


@dataclass(frozen=True)
class Trace:
    """All that was noted while elements were taken.

    Args:
        first_pass: of a pipeline whose data ended during the warm-up.
        begin_s: how long passes took to begin, up to their first element, while it was counted.
        looked: the looks at the stages, per pass that was counted.
        has_ended: there was no further pass: the iterator is used up.
        is_in_first_pass: the data had not ended once when counting began.
    """

    first_s: float
    first_element: Any  # the user's
    blocks: tuple[Span, ...]
    first_pass: Span | None
    passes: int
    begin_s: float
    looked: tuple[Pass, ...]
    begin: Reading
    end: Reading
    has_ended: bool
    is_in_first_pass: bool


def take(feed: Feed, plan: Plan) -> Trace:
    """Take elements as planned; with a cache, the first pass is gone through first if it can be.

    Raises:
        PipelineError: there is no element at all.
    """
    with closing(Taker(feed, plan.batch_size, plan.read, plan.clock)) as taker:
        return _Timer(taker, plan).run()


class _Timer:
    def __init__(self, taker: Taker, plan: Plan) -> None:
        self.taker, self.plan = taker, plan
        self.blocks: list[Span] = []
        self.has_ended = False
        self._from_pass = 0
        self._begin_s = 0.0
        self._told_s = 0.0

    def run(self) -> Trace:
        """Take the first element, warm up, measure."""
        taker, began_s = self.taker, self.plan.clock()
        self.plan.tell("waiting for the first element", 0.0)
        taker.first()
        first_s = self.plan.clock() - began_s
        start = taker.mark()
        self._warm_up()
        is_short = taker.passes > 0
        begin = start
        if not self.has_ended:
            begin = self._measure_passes() if is_short else self._measure_on()
        if not self.blocks:  # all that there was came in the warm-up
            begin = start if taker.elements > start.elements else taker.start
            self.blocks = [between(begin, taker.mark())]
        return self._trace(first_s, begin, is_short=is_short)

    def _trace(self, first_s: float, begin: Mark, *, is_short: bool) -> Trace:
        taker = self.taker
        return Trace(
            first_s=first_s,
            first_element=taker.first_element,
            blocks=tuple(self.blocks),
            first_pass=taker.first_pass,
            passes=taker.passes,
            begin_s=taker.begin_s - self._begin_s,
            looked=tuple(self._counted()),
            begin=begin.reading,
            end=self.plan.read(),
            has_ended=self.has_ended,
            is_in_first_pass=not is_short,
        )

    def _counted(self) -> list[Pass]:
        """Return the passes that were measured; all of them where too many went by."""
        looked = self.taker.looked
        counted = [one for one in looked[self._from_pass :] if one.looks]
        return counted or [one for one in looked if one.looks]

    def _warm_up(self) -> None:
        taker, plan = self.taker, self.plan
        until_s = plan.clock() + plan.warmup_s
        longest_s = until_s + MAX_PASS * plan.seconds * taker.feed.has_cache
        while plan.clock() < until_s or (taker.passes == 0 and plan.clock() < longest_s):
            self._tell("warming up", until_s, plan.warmup_s)
            if not taker.step():
                self.has_ended = True
                return

    def _measure_on(self) -> Mark:
        """Measure from here, for as long as was asked for."""
        taker, plan = self.taker, self.plan
        taker.looked[0].begin = taker.look()
        self._from_pass, self._begin_s = taker.passes, taker.begin_s
        first = last = taker.mark()
        end_s = plan.clock() + plan.seconds
        while plan.clock() < end_s and not self.has_ended:
            until_s = min(plan.clock() + plan.seconds / BLOCKS, end_s)
            self._take_until(until_s, end_s)
            taker.look()
            last = self._add_block(last)
        return first

    def _take_until(self, until_s: float, end_s: float) -> None:
        while self.plan.clock() < until_s:
            self._tell("measuring", end_s, self.plan.seconds)
            if not self.taker.step():
                self.has_ended = True
                return

    def _measure_passes(self) -> Mark:
        """Measure whole passes, until they took as long as was asked for."""
        taker, plan = self.taker, self.plan
        self._finish_pass()
        self._from_pass, self._begin_s = taker.passes, taker.begin_s
        first = last = taker.mark()
        end_s, block_s = plan.clock() + plan.seconds, plan.clock()
        while plan.clock() < end_s and not self.has_ended:
            self._tell("measuring", end_s, plan.seconds)
            self.has_ended = not taker.step()
            self._finish_pass()
            if plan.clock() - block_s >= plan.seconds / BLOCKS:
                last, block_s = self._add_block(last), plan.clock()
        if not self.blocks:
            self._add_block(last)
        return first

    def _finish_pass(self) -> None:
        """Take the rest of a pass; one that turns out to be endless is left where it is."""
        longest_s = self.plan.clock() + MAX_PASS * self.plan.seconds + self.plan.warmup_s
        while self.taker.take_one() and self.plan.clock() < longest_s:
            pass

    def _add_block(self, last: Mark) -> Mark:
        now = self.taker.mark()
        if now.elements > last.elements:
            self.blocks.append(between(last, now))
        return now

    def _tell(self, what: str, end_s: float, length_s: float) -> None:
        now_s = self.plan.clock()
        if now_s - self._told_s >= _TELL_S:
            self._told_s = now_s
            share = 1.0 - max(end_s - now_s, 0.0) / length_s if length_s else 1.0
            self.plan.tell(what, share)
