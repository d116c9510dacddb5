"""Counts the exceptions that a thread catches: by class, by where they come from and end.

All of it but the report runs on the user's own thread, between two of its lines: nothing is kept
but text and numbers, and no code of the script is run.
"""

from __future__ import annotations

from pathlib import PurePath
from types import TracebackType, WrapperDescriptorType
from typing import Any, NamedTuple

from quickfit.probes._places import absolute, is_user_file, user_place
from quickfit.probes._state import now

# As many tell how often it happens; then the thread runs free again.
MAX_CAUGHT = 2_000
# Different ones that are kept of one look.
MAX_KINDS = 40
MAX_MESSAGE = 200
# An exception that travelled further than this is not followed to its end.
MAX_TRAVELLED = 60
# Of what an exception holds, longer text or bytes are not made a message of.
MAX_PART = 100_000
IMPORTS = "<frozen importlib"
# No errors: they end loops and generators.
_ENDS = (StopIteration, StopAsyncIteration, GeneratorExit)
_PLAIN = (float, bool, type(None))


class Kind(NamedTuple):
    """Exceptions that are counted as one: of a class, from one line, caught at one line."""

    name: str
    file: str | None
    line: int | None
    caught_file: str
    caught_at: int


class Look:
    """Counts what one thread catches."""

    def __init__(self) -> None:
        self.counts: dict[Kind, int] = {}
        # Of the first exception of each kind: its message, and the names of its class and bases.
        self.details: dict[Kind, tuple[str, tuple[str, ...]]] = {}
        self.caught = 0
        self.ended_s: float | None = None
        self._last: tuple[Kind, int, int, int] | None = None

    def add(self, value: BaseException) -> None:
        """Count an exception that a handler has just got."""
        trace = value.__traceback__
        if self.ended_s is not None or trace is None or issubclass(type(value), _ENDS):
            return
        kind, chain = _kind_of(value, trace)
        if kind.caught_file.startswith(IMPORTS):
            return
        self._take_back(value, chain)
        if self.caught >= MAX_CAUGHT:
            self.ended_s = now()
            return
        if kind not in self.counts:
            if len(self.counts) >= MAX_KINDS:
                return
            self.details[kind] = (message_of(value, MAX_MESSAGE), _names(type(value)))
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self._last = (kind, id(value), id(trace), id(chain[-1]))
        self.caught += 1

    def _take_back(self, value: BaseException, chain: list[TracebackType]) -> None:
        """Count an exception only where it got last: a `finally` on its way is no end of it."""
        if self._last is None:
            return
        kind, number, trace, first = self._last
        is_same = (number, first) == (id(value), id(chain[-1])) and _was_called(chain)
        if is_same and any(id(part) == trace for part in chain[1:]):
            self.counts[kind] -= 1
            self.caught -= 1


def _kind_of(value: BaseException, trace: TracebackType) -> tuple[Kind, list[TracebackType]]:
    chain = [trace]
    while chain[-1].tb_next is not None and len(chain) < MAX_TRAVELLED:
        chain.append(chain[-1].tb_next)
    file, line = _user_line(chain)
    caught = absolute(trace.tb_frame.f_code.co_filename)
    return Kind(type(value).__name__, file, line, caught, trace.tb_lineno), chain


def _was_called(chain: list[TracebackType]) -> bool:
    """Tell whether an exception came out of a call; if not, the same object was raised again."""
    if len(chain) < 2:
        return False
    # A generator that has ended does not know who called it.
    caller = chain[1].tb_frame.f_back
    return caller is None or caller is chain[0].tb_frame


def _user_line(chain: list[TracebackType]) -> tuple[str | None, int | None]:
    """Return the user's line nearest to where an exception was raised."""
    for part in reversed(chain):
        file = part.tb_frame.f_code.co_filename
        if is_user_file(file):
            return absolute(file), part.tb_lineno
    place = user_place(chain[0].tb_frame)
    return (place.file, place.line) if place is not None else (None, None)


def _names(cls: type) -> tuple[str, ...]:
    return tuple(base.__name__ for base in cls.__mro__)


def message_of(error: BaseException, longest: int) -> str:
    """Return what an exception says, without running any code of the script's.

    An exception may have a `__str__` of its own, or hold objects that have: then only the text
    that it was made with is told.
    """
    parts = [*error.args, *(getattr(error, name, None) for name in ("filename", "filename2"))]
    if isinstance(type(error).__str__, WrapperDescriptorType) and all(map(_is_plain, parts)):
        return str(error)[:longest]
    return next((part[:longest] for part in error.args if type(part) is str), "")


def _is_plain(value: Any) -> bool:
    if type(value) in (str, bytes):
        return len(value) <= MAX_PART
    if type(value) is int:
        return value.bit_length() <= 256
    return type(value) in _PLAIN or isinstance(value, PurePath)
