"""Takes elements from a feed and times them: warm-up, timed blocks, CPU, memory and load."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

from quickfit.data.speed import feeds
from quickfit.data.speed.feeds import Feed, failed_text, feed_errors
from quickfit.data.speed.figures import MachineUse, TimeSpan
from quickfit.errors import PipelineError
from quickfit.machine import usable_cores
from quickfit.pipeline_model.snapshot import Snapshot

# The system counts CPU time in ticks of 10 ms; over less than this they say nothing.
MIN_LOAD_S = 0.25
# While the first element of a pass is awaited, the stages are looked at after so long, then half
# as often each time: of a shuffle that holds everything, the stages before it end meanwhile.
FIRST_LOOK_S = 0.005
# Passes that begin faster are not looked at like that: it would disturb them.
MIN_WATCHED_S = 2 * FIRST_LOOK_S
# Passes of which the looks are kept.
MAX_PASSES = 40
BLOCKS = 10
# A pass that is wanted to its end may take this many times what was asked for.
MAX_PASS = 3.0
# How often what is going on is told.
_PROGRESS_S = 0.25


@dataclass(frozen=True)
class MachineReading:
    """Counters at one moment, all of which only grow.

    Args:
        at_s: monotonic time.
        cpu_s: CPU time of this process and its children.
        busy_s: CPU time of everything on the machine; None where it is not told.
        read_bytes: what this process had read from storage.
    """

    at_s: float
    cpu_s: float
    busy_s: float | None
    read_bytes: int | None


def read_machine() -> MachineReading:
    """Return the counters as they are now."""
    return MachineReading(
        time.perf_counter(),
        tree_cpu_s(),
        _busy_s(),
        _read_field(Path("/proc/self/io"), "read_bytes:"),
    )


def tree_cpu_s() -> float:
    """Return the CPU time of this process, of its children, and of those that have ended."""
    ended = os.times()
    total = time.process_time() + ended.children_user + ended.children_system
    for child in _child_processes():
        with contextlib.suppress(psutil.Error):  # it ended meanwhile
            times = child.cpu_times()
            total += times.user + times.system
            total += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return total


def memory_bytes() -> int | None:
    """Return the memory of this process and its children, shared pages counted once."""
    total = 0
    for process in (psutil.Process(), *_child_processes()):
        with contextlib.suppress(psutil.Error):
            told = process.memory_full_info()
            total += int(getattr(told, "pss", None) or told.rss)
    return total or None


def machine_between(first: MachineReading, last: MachineReading) -> MachineUse:
    """Return what the machine did between two readings."""
    wall_s = last.at_s - first.at_s
    other = None
    if first.busy_s is not None and last.busy_s is not None and wall_s >= MIN_LOAD_S:
        foreign_s = last.busy_s - first.busy_s - (last.cpu_s - first.cpu_s)
        # Of 64 cores, a container may use 4: the other 60 are not in its way.
        elsewhere = max((os.cpu_count() or 1) - usable_cores(), 0.0)
        other = max(foreign_s / wall_s - elsewhere, 0.0)
    device, is_cpu_only = _compute_device()
    moved = None
    if first.read_bytes is not None and last.read_bytes is not None:
        moved = last.read_bytes - first.read_bytes
    return MachineUse(usable_cores(), other, device, is_cpu_only, moved)


def _compute_device() -> tuple[str, bool]:
    """Return what TensorFlow computes on, where it is loaded, and whether that is the CPU."""
    tf = sys.modules.get("tensorflow")
    if tf is None:
        return "CPU", True
    # Asking for logical devices would take their memory.
    found = [device.device_type for device in tf.config.list_physical_devices()]
    others = [kind for kind in found if kind != "CPU"]
    return (f"{len(others)} {others[0]}" if others else "CPU"), not others


def _child_processes() -> list[psutil.Process]:
    try:
        return psutil.Process().children(recursive=True)
    except psutil.Error:
        return []


def _busy_s() -> float | None:
    times = psutil.cpu_times()
    # Time of guests is counted in that of users already.
    idle = ("idle", "iowait", "guest", "guest_nice")
    return float(sum(value for name, value in times._asdict().items() if name not in idle))


def _read_text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _read_field(path: Path, name: str) -> int | None:
    for line in _read_text(path).splitlines():
        parts = line.split()
        if len(parts) == 2 and parts[0] == name and parts[1].isdecimal():
            return int(parts[1])
    return None


@dataclass
class FeedPass:
    """One pass over the data: the looks at its stages, and the one with which counting began."""

    looks: list[Snapshot] = field(default_factory=list)
    begin: Snapshot | None = None


@dataclass(frozen=True)
class TakeMark:
    """How much had been taken at a moment."""

    elements: int
    examples: int
    reading: MachineReading


def span_between(first: TakeMark, last: TakeMark) -> TimeSpan:
    """Return what was taken between two marks, and what it took."""
    return TimeSpan(
        last.elements - first.elements,
        last.examples - first.examples,
        last.reading.at_s - first.reading.at_s,
        last.reading.cpu_s - first.reading.cpu_s,
    )


class ElementTaker:
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
        read: Callable[[], MachineReading] = read_machine,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.feed = feed
        self.elements = self.examples = 0
        self.passes = 0  # that have ended
        self.begin_s = 0.0  # between the last element of a pass and the first of the next
        self.looked: list[FeedPass] = []
        self.first_element: Any = None
        self.first_pass: TimeSpan | None = None
        self._batch_size, self._read, self._clock = batch_size, read, clock
        self._count: Callable[[Any], int] | None = None
        self._iterator: Iterator[Any] | None = None
        self._in_pass, self._next_look = 0, 1
        self._last_begin_s = math.inf
        self.start = self.mark()

    def mark(self) -> TakeMark:
        """Return how much has been taken so far."""
        return TakeMark(self.elements, self.examples, self._read())

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
        now = FeedPass()
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
        self._count_taken(element)
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

    def _count_taken(self, element: Any) -> None:
        if self._count is None:
            self.first_element = element
            self._count = feeds.example_counter(
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
            self.first_pass = span_between(self.start, self.mark())
        self.passes += 1
        began_s = self._clock()
        self.feed.end()
        self.begin_s += self._clock() - began_s


class _Looking:
    """Looks at the stages from a thread of its own while an element is awaited."""

    def __init__(self, feed: Feed, now: FeedPass, *, is_on: bool) -> None:
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


@dataclass(frozen=True)
class MeasurePlan:
    """How long to measure, and what is known of the elements.

    `tell` is called now and then with what is going on, and the share that is done.
    """

    seconds: float = 5.0
    warmup_s: float = 2.0
    batch_size: int | None = None
    tell: Callable[[str, float], None] = lambda what, share: None
    clock: Callable[[], float] = time.perf_counter
    read: Callable[[], MachineReading] = read_machine


@dataclass(frozen=True)
class MeasureTrace:
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
    blocks: tuple[TimeSpan, ...]
    first_pass: TimeSpan | None
    passes: int
    begin_s: float
    looked: tuple[FeedPass, ...]
    begin: MachineReading
    end: MachineReading
    has_ended: bool
    is_in_first_pass: bool


def time_feed(feed: Feed, plan: MeasurePlan) -> MeasureTrace:
    """Take elements as planned; with a cache, the first pass is gone through first if it can be.

    Raises:
        PipelineError: there is no element at all.
    """
    with closing(ElementTaker(feed, plan.batch_size, plan.read, plan.clock)) as taker:
        return _Timer(taker, plan).run()


class _Timer:
    def __init__(self, taker: ElementTaker, plan: MeasurePlan) -> None:
        self.taker, self.plan = taker, plan
        self.blocks: list[TimeSpan] = []
        self.has_ended = False
        self._from_pass = 0
        self._begin_s = 0.0
        self._told_s = 0.0

    def run(self) -> MeasureTrace:
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
            self.blocks = [span_between(begin, taker.mark())]
        return self._build_trace(first_s, begin, is_short=is_short)

    def _build_trace(self, first_s: float, begin: TakeMark, *, is_short: bool) -> MeasureTrace:
        taker = self.taker
        return MeasureTrace(
            first_s=first_s,
            first_element=taker.first_element,
            blocks=tuple(self.blocks),
            first_pass=taker.first_pass,
            passes=taker.passes,
            begin_s=taker.begin_s - self._begin_s,
            looked=tuple(self._count_block()),
            begin=begin.reading,
            end=self.plan.read(),
            has_ended=self.has_ended,
            is_in_first_pass=not is_short,
        )

    def _count_block(self) -> list[FeedPass]:
        """Return the passes that were measured; all of them where too many went by."""
        looked = self.taker.looked
        counted = [one for one in looked[self._from_pass :] if one.looks]
        return counted or [one for one in looked if one.looks]

    def _warm_up(self) -> None:
        taker, plan = self.taker, self.plan
        until_s = plan.clock() + plan.warmup_s
        longest_s = until_s + MAX_PASS * plan.seconds * taker.feed.has_cache
        while plan.clock() < until_s or (taker.passes == 0 and plan.clock() < longest_s):
            self._report_progress("warming up", until_s, plan.warmup_s)
            if not taker.step():
                self.has_ended = True
                return

    def _measure_on(self) -> TakeMark:
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
            self._report_progress("measuring", end_s, self.plan.seconds)
            if not self.taker.step():
                self.has_ended = True
                return

    def _measure_passes(self) -> TakeMark:
        """Measure whole passes, until they took as long as was asked for."""
        taker, plan = self.taker, self.plan
        self._finish_pass()
        self._from_pass, self._begin_s = taker.passes, taker.begin_s
        first = last = taker.mark()
        end_s, block_s = plan.clock() + plan.seconds, plan.clock()
        while plan.clock() < end_s and not self.has_ended:
            self._report_progress("measuring", end_s, plan.seconds)
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

    def _add_block(self, last: TakeMark) -> TakeMark:
        now = self.taker.mark()
        if now.elements > last.elements:
            self.blocks.append(span_between(last, now))
        return now

    def _report_progress(self, what: str, end_s: float, length_s: float) -> None:
        now_s = self.plan.clock()
        if now_s - self._told_s >= _PROGRESS_S:
            self._told_s = now_s
            share = 1.0 - max(end_s - now_s, 0.0) / length_s if length_s else 1.0
            self.plan.tell(what, share)
