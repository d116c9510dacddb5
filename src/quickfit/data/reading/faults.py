"""What is done about a record that cannot be used: an error that names it, or a note of it."""

from __future__ import annotations

import threading

import numpy as np

from quickfit import terminal
from quickfit.data.entries import Rejection, SourceImageError
from quickfit.errors import PipelineError

# As many lines as fit on a screen beside the rest.
_MOST_TOLD = 10


class Faults:
    """The records that were found damaged.

    Args:
        skips: whether they are left out; otherwise the first one is an error.
    """

    def __init__(self, *, skips: bool) -> None:
        self.skips = skips
        self.found: list[Rejection] = []
        self._places: set[str] = set()
        self._lock = threading.Lock()

    def note(self, place: str, error: SourceImageError, advice: str) -> None:
        """Take note of a record; once, although every epoch finds it again.

        Args:
            place: which record, in words.
            error: what is wrong with it.
            advice: what to do, in one line, beside leaving it out.

        Raises:
            PipelineError: records are not to be left out.
        """
        if not self.skips:
            raise PipelineError(
                f"{printable(place)}: {error.reason.value}: {error.detail}.\n{advice}\n"
                'To leave out what is damaged: records(..., on_bad="skip")'
            ) from None
        with self._lock:
            if place not in self._places:
                self._places.add(place)
                self.found.append(Rejection(place, error.reason, error.detail))
                self._tell(self.found[-1])

    def nothing_left(self, count: int) -> np.int64:
        """End a pass that left out everything.

        Raises:
            PipelineError: always, naming the first record.
        """
        first = self.found[0] if self.found else None
        why = f"; the first is\n  {_line(first)}" if first else ""
        of_how_many = f"{count:,} " if count else ""  # 0: nobody counted them
        raise PipelineError(f"none of the {of_how_many}records can be used{why}")

    def _tell(self, rejection: Rejection) -> None:
        told = len(self.found)
        if told <= _MOST_TOLD:
            terminal.say(f"left out: {_line(rejection)}")
        if told == _MOST_TOLD:
            terminal.say("more of them are not told: see `bad_records` of the dataset")


def _line(rejection: Rejection) -> str:
    return f"{printable(rejection.name)}: {rejection.reason.value}: {rejection.detail}"


def printable(text: str) -> str:
    """Return a text so that every terminal can show it on one line."""
    shown = text.encode("utf-8", "backslashreplace").decode()
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in shown)
