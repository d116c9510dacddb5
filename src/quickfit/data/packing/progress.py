"""Shows how far a pack is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TextIO

from quickfit import terminal
from quickfit.data.packing.making import Progress
from quickfit.units import about, count, size

if TYPE_CHECKING:
    from rich.progress import TaskID

# Not every second: such lines end up in the log of a batch job.
_LINE_EVERY_S = 5.0
_BAR_EVERY_S = 0.1
# Before that, the start of the workers counts for too much.
_FIRST_GUESS_S = 3.0


class Display(Protocol):
    """What is told of the progress."""

    def heed(self, done: Progress) -> None:
        """Take note of what has been done since the last time."""

    def close(self) -> None:
        """Stop showing it."""


def display(stream: TextIO | None, images: int | None, verb: str = "packing") -> Display:
    """Return what shows progress on a stream; nothing without one.

    Args:
        stream: where it is shown.
        images: how many there are; None if nobody knows.
        verb: what is being done.
    """
    if stream is None:
        return Silence()
    return Bar(stream, images, verb) if stream.isatty() else Lines(stream, images, verb)


class Silence:
    """Shows nothing."""

    def heed(self, done: Progress) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Tally:
    """How much has been done, how fast, and how long the rest takes."""

    def __init__(self, images: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = images
        self.done = Progress()
        self.clock = clock
        self._start_s = clock()

    def sentence(self) -> str:
        """Return all of it in one line."""
        done = self.done
        of = f" of {count(self.total)}" if self.total is not None else ""
        parts = [f"{count(done.images)}{of} images", size(done.bytes), *self._speed()]
        if done.rejected:
            parts.append(f"{count(done.rejected)} left out")
        return ", ".join(parts)

    def _speed(self) -> list[str]:
        """Return rates and the time to go; images that were in place already count for none."""
        passed_s = self.clock() - self._start_s
        made = self.done.images - self.done.kept
        if passed_s <= 0 or made <= 0:
            return []
        share = made / self.done.images
        rates = [
            f"{made / passed_s:,.0f} images/s",
            f"{size(self.done.bytes * share / passed_s)}/s",
        ]
        if self.total is None or passed_s < _FIRST_GUESS_S:
            return rates
        left_s = (self.total - self.done.images) * passed_s / made
        return [*rates, f"{about(left_s)} to go"]


class Lines:
    """One line every few seconds, for logs."""

    def __init__(
        self,
        stream: TextIO,
        images: int | None,
        verb: str = "packing",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._verb = verb
        self._tally = Tally(images, clock)
        self._next_s = clock() + _LINE_EVERY_S

    def heed(self, done: Progress) -> None:
        """Count, and print a line when it is time."""
        self._tally.done = self._tally.done.plus(done)
        now_s = self._tally.clock()
        if now_s >= self._next_s:
            self._next_s = now_s + _LINE_EVERY_S
            _print(f"{self._verb}: {self._tally.sentence()}", self._stream)

    def close(self) -> None:
        """Do nothing: all lines are out."""


def _print(text: str, stream: TextIO) -> None:
    try:
        terminal.write(stream, f"{text}\n")
    except (OSError, ValueError):
        return  # nobody reads it any more (`2>&1 | head`), and the pack goes on


class Unpacking:
    """One line every few seconds while an archive is unpacked."""

    def __init__(self, stream: TextIO | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._next_s = clock() + _LINE_EVERY_S

    def heed(self, read_bytes: int, total_bytes: int) -> None:
        """Print a line when it is time."""
        if self._stream is not None and self._clock() >= self._next_s:
            self._next_s = self._clock() + _LINE_EVERY_S
            text = f"unpacking: {size(read_bytes)} of {size(total_bytes)}"
            _print(text, self._stream)


class Bar:
    """A bar that goes away when the pack is done."""

    def __init__(self, stream: TextIO, images: int | None, verb: str = "packing") -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._tally = Tally(images)
        self._next_s = 0.0
        self._bar = RichProgress(
            TextColumn(verb),
            BarColumn(bar_width=24),
            # Never as markup: it is made of numbers only, and stays so.
            TextColumn("{task.description}", markup=False),
            console=terminal.console(stream),
            transient=True,
            auto_refresh=False,
        )
        self._task: TaskID = self._bar.add_task("", total=images)
        self._bar.start()

    def heed(self, done: Progress) -> None:
        """Count, and draw the bar when it is time."""
        self._tally.done = self._tally.done.plus(done)
        now_s = self._tally.clock()
        if now_s < self._next_s:
            return
        self._next_s = now_s + _BAR_EVERY_S
        images, text = self._tally.done.images, self._tally.sentence()
        self._bar.update(self._task, completed=images, description=text, refresh=True)

    def close(self) -> None:
        """Remove the bar."""
        self._bar.stop()
