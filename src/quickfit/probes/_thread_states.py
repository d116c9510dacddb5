"""Reads what Python keeps of each of its threads, and sets a trace function on another thread.

Python offers neither to a program. Its list of thread states can be walked through the C API; where
in a state a value lies is learned on our own thread, whose values are known. Where that cannot be
learned for certain, nothing is read and nothing is set.

No thread can leave the list while we hold Python's lock. So all that is done to a state happens
inside one call from C, in which no other thread runs: the functions below build iterators, and
`_at_once` runs them.
"""

from __future__ import annotations

import functools
import gc
import itertools
import operator
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from quickfit.standard import standard

# What is looked for lies in the first part of a state, in every version; states are larger.
_WORDS, _WORD_BYTES = 32, 8
# A thread that is just being born may hide those born before it, for nanoseconds.
_MAX_PASSES = 1_000
_value = operator.attrgetter("value")


class Unmoved:
    """Takes every event of a thread and does nothing, in C.

    The trace function is Python's own comparison of two objects: the event's number is that of an
    operator. Unlike a function made by `ctypes`, it lets an error in it, which may be a Ctrl-C,
    reach the script as one of its own.
    """

    # A call begins, an exception gets to a frame, a line begins, a call ends: all are false.
    __lt__: Any = [].count
    __le__: Any = [].count
    __eq__: Any = [].count
    __ne__: Any = [].count
    __hash__ = None  # type: ignore[assignment]


class _Api:
    """The functions of Python's C API that are needed; none of them gives up its lock."""

    def __init__(self) -> None:
        ctypes = standard("ctypes")  # rarely needed

        def function(name: str, result: Any, *parameters: Any) -> Any:
            return ctypes.PYFUNCTYPE(result, *parameters)((name, ctypes.pythonapi))

        pointer = ctypes.c_void_p
        self.word_at: Any = ctypes.c_size_t.from_address
        self.own = function("PyThreadState_Get", pointer)
        self.interpreter: int = function("PyInterpreterState_Get", pointer)()
        self.first = function("PyInterpreterState_ThreadHead", pointer, pointer)
        # Called with a second argument, which a function of C does not notice.
        self.next = function("PyThreadState_Next", pointer, pointer, pointer)
        self.ident = self.offset_of(threading.get_ident())
        self.native = self.offset_of(threading.get_native_id())
        if sys.version_info[:2] == (3, 11):
            self.fill = function("memset", pointer, pointer, ctypes.c_int, ctypes.c_size_t)
            self.set_trace = function("_PyEval_SetTrace", ctypes.c_int, pointer, pointer, pointer)
            compare = ctypes.pythonapi.PyObject_RichCompareBool
            self.compare: int = ctypes.cast(compare, pointer).value or 0

    def states(self) -> Iterator[int]:
        """Yield the address of each thread's state, the newest first."""
        first = map(self.first, (self.interpreter,))
        each = itertools.accumulate(itertools.chain(first, itertools.repeat(0)), self.next)
        return itertools.takewhile(bool, each)

    def words(self, addresses: Iterable[int], offset: int) -> Iterator[int]:
        """Yield the word that lies so far behind each address."""
        return map(_value, map(self.word_at, map(offset.__add__, addresses)))

    def where(self, addresses: Iterable[int], offset: int, word: int) -> Iterator[int]:
        """Yield the addresses behind which that word lies."""
        one, two = itertools.tee(addresses)
        is_it = map(functools.partial(operator.eq, word), self.words(two, offset))
        return itertools.compress(one, is_it)

    def offset_of(self, word: int) -> int | None:
        """Return where in our own thread's state a value lies; None if it is not at one place."""
        own = self.own()
        offsets = range(0, _WORDS * _WORD_BYTES, _WORD_BYTES)
        found = [at for at in offsets if self.word_at(own + at).value == word]
        return found[0] if len(found) == 1 else None


def _at_once(*iterators: Iterable[Any]) -> list[list[Any]]:
    """Run iterators one after the other with no other thread and no finalizer in between."""
    runs: list[Callable[[], Any]] = [functools.partial(list, iterator) for iterator in iterators]
    if not gc.isenabled():
        return list(map(operator.call, runs))
    try:
        return list(map(operator.call, [gc.disable, *runs]))[1:]
    finally:
        gc.enable()


@functools.cache
def _api() -> _Api | None:
    if sys.implementation.name != "cpython" or sys.maxsize < 2**32:
        return None
    if hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled():
        return None  # threads come and go under our eyes
    try:
        return _Api()
    except (AttributeError, ImportError, OSError, ValueError):  # a Python without them
        return None


def native_ids() -> dict[int, int]:
    """Return the system's number of every thread that runs Python, by Python's own."""
    api = _api()
    if api is None or api.ident is None or api.native is None:
        return {}
    one, two = itertools.tee(api.states())
    (found,) = _at_once(zip(api.words(one, api.ident), api.words(two, api.native), strict=False))
    return {ident: native for ident, native in found if ident and native}


@functools.cache
def _places() -> tuple[int, int] | None:
    """Return where a state holds its trace function, and its C frame that has a switch for it."""
    api = _api()
    if api is None or api.ident is None or not hasattr(api, "compare") or sys.gettrace():
        return None
    own, taker = api.own(), Unmoved()
    api.set_trace(own, api.compare, id(taker))
    function = api.offset_of(api.compare)
    frame = (function or 0) - 2 * _WORD_BYTES
    is_on = function is not None and _switch(api, own + frame) == 255
    api.set_trace(own, None, None)
    return (function, frame) if function and is_on and _switch(api, own + frame) == 0 else None


def _switch(api: _Api, address: int) -> int:
    """Return the first byte of what an address points at."""
    return int(api.word_at(api.word_at(address).value).value) & 0xFF


def trace(thread: int, taker: Unmoved) -> bool:
    """Let `taker` see what happens on another thread; tell whether it does.

    Not before the first exception on that thread: until then it runs at full speed. A thread that
    has a trace function already is left alone. Only on Python 3.11.
    """
    api, places = _api(), _places()
    if api is None or api.ident is None or places is None:
        return False
    function, frame = places
    free = api.where(api.where(api.states(), api.ident, thread), function, 0)
    ours = api.where(api.where(api.states(), api.ident, thread), function, api.compare)
    repeat = itertools.repeat
    done, _ = _at_once(
        map(api.set_trace, free, repeat(api.compare), repeat(id(taker))),
        map(api.fill, api.words(ours, frame), repeat(0), repeat(1)),
    )
    return done == [0]


def untrace() -> None:
    """Take our trace function off whatever thread has it."""
    api, places = _api(), _places()
    if api is None or api.ident is None or places is None:
        return
    main, nothing = threading.main_thread().ident, itertools.repeat(None)
    for _ in range(_MAX_PASSES):
        ours = api.where(api.states(), places[0], api.compare)
        threads, _ = _at_once(
            api.words(api.states(), api.ident), map(api.set_trace, ours, nothing, nothing)
        )
        if main in threads:  # the oldest, at the end of the list
            return
