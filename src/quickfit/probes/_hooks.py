"""Ways to notice that library code runs, without leaving a frame in a traceback.

A plain wrapper around `fit` or a generator would show up as a quickfit line in the traceback
of every error the user's own code raises below it. None of these does:

- `notice_calls` sees a method being looked up on an object, just before it is called;
- `replace_calls` decides at that moment what is called instead;
- `timed_iterator` stamps the time before and after each item with C-level iterators;
- `TimedFunction` times a function of a module while it stands in its place;
- `call_once` gives an object for one call, and notes the time when that call is over;
- `wrap_quick` is for functions that return at once and in which no user code runs: only an
  error of their own, such as for a wrong argument, would show it.
"""

from __future__ import annotations

import functools
import itertools
import operator
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from threading import get_ident
from types import FrameType
from typing import Any

now = time.perf_counter


class _NoticedMethod:
    """A method that tells `notice` about an object each time it is looked up on one."""

    def __init__(self, method: Any, notice: Callable[[Any], None]) -> None:
        self.method = method
        self.notice = notice

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self.method.__get__(None, owner)
        self.notice(instance)
        return self.method.__get__(instance, owner)


def notice_calls(owner: type, name: str, notice: Callable[[Any], None]) -> None:
    """Call `notice(obj)` whenever `obj.name` is looked up, which is just before it is called."""
    method = owner.__dict__[name]
    if not isinstance(method, _NoticedMethod):
        setattr(owner, name, _NoticedMethod(method, notice))


class _ReplacedMethod:
    """A method in whose place `choose` may put another function each time it is looked up."""

    def __init__(self, method: Any, choose: Callable[[Any, FrameType], Any]) -> None:
        self.method = method
        self.choose = choose

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self.method.__get__(None, owner)
        chosen = self.choose(instance, sys._getframe(1))
        return self.method.__get__(instance, owner) if chosen is None else chosen


def replace_calls(owner: type, name: str, choose: Callable[[Any, FrameType], Any]) -> None:
    """Have `choose(obj, frame)` say what `obj.name` is for the code in `frame`; None: as ever."""
    method = owner.__dict__[name]
    if not isinstance(method, _ReplacedMethod):
        setattr(owner, name, _ReplacedMethod(method, choose))


def wrap_quick(owner: Any, name: str, after: Callable[..., None]) -> None:
    """Call `after(result, *args)` when the function `owner.name` returns."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        after(result, *args)
        return result

    setattr(owner, name, call)


def stamper(
    stamps: deque[float], clock: Callable[[], float], *, is_begin: bool = False
) -> Callable[[Any], None]:
    """Return a function of one argument that appends the time to `stamps`, of a begin negated.

    It is made of C functions only, for use where Python swallows errors: in a finalizer written in
    Python the signal of a Ctrl-C could be handled, and its KeyboardInterrupt would be lost. After
    a long call into TensorFlow it nearly always was: the finalizer is the first Python to run.
    """
    times: Iterator[float] = iter(clock, None)
    times = map(operator.neg, times) if is_begin else times
    return functools.partial(next, map(stamps.append, times))


def call_once(function: Any, ends: Callable[[Any], None]) -> Any:
    """Return an object to call instead of `function`, once; `ends`, a `stamper`, runs afterwards.

    It is gone when the call returns or raises.
    """
    call = functools.partial(function)
    call.__dict__["ending"] = weakref.ref(call, ends)
    return call


class TimedFunction:
    """Times a function on one thread: an error in it passes through no Python frame of ours.

    Before each call `__call__` is looked up, which begins it.

    Args:
        original: the function.
        stamps: gets the negative time at the begin of each call and the time at its end.
        thread: only calls on this one are timed.
        begins: called before each call, with the frame that makes it; tells whether to time it.
    """

    def __init__(
        self,
        original: Any,
        stamps: deque[float],
        thread: int,
        begins: Callable[[FrameType], bool] | None = None,
    ) -> None:
        self.__wrapped__ = original
        self.stamps = stamps
        self.thread = thread
        self.begins = begins
        self.ends = stamper(stamps, now)

    @property
    def __call__(self) -> Any:
        if get_ident() != self.thread:
            return self.__wrapped__  # an input thread, whose work is not the step's
        if self.begins is not None and not self.begins(sys._getframe(1)):
            return self.__wrapped__
        call = call_once(self.__wrapped__, self.ends)
        self.stamps.append(-now())
        return call


def paired(stamps: Iterable[float]) -> list[tuple[int, float]]:
    """Return which call each time belongs to, by the order of their begins, and the time it took.

    A call may be made inside another one; of a call that has not ended there is no time.
    """
    calls = 0
    begun: list[tuple[int, float]] = []
    found: list[tuple[int, float]] = []
    for stamp in stamps:
        if stamp <= 0:
            begun.append((calls, -stamp))
            calls += 1
        elif begun:
            number, began_s = begun.pop()
            found.append((number, stamp - began_s))
    return found


def timed_iterator(
    items: Iterable[Any],
    begin: Callable[[], object],
    end: Callable[[], object],
    exhausted: Callable[[], None],
) -> Iterator[Any]:
    """Iterate `items`, calling `begin` before and `end` after each one is made.

    `exhausted` is called when there are no more, after the last `begin`. `zip` asks its three
    iterators in turn from C, so an error in `items` travels through no Python frame of ours.
    `begin` and `end` must not return None.
    """
    items = itertools.chain(items, iter(exhausted, None))
    stamped = zip(iter(begin, None), items, iter(end, None), strict=False)
    return map(operator.itemgetter(1), stamped)
