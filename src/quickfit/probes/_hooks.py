"""Ways to notice that library code runs, without leaving a frame in a traceback.

A plain wrapper around `fit` or a generator would show up as a quickfit line in the traceback
of every error the user's own code raises below it. None of these does:

- `notice_calls` sees a method being looked up on an object, just before it is called;
- `timed_iterator` stamps the time before and after each item with C-level iterators;
- `TimedFunction` times a function of a module while it stands in its place;
- `wrap_quick` is for functions that return at once and in which no user code runs: only an
  error of their own, such as for a wrong argument, would show it.
"""

from __future__ import annotations

import functools
import itertools
import operator
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from threading import get_ident
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


def wrap_quick(owner: Any, name: str, after: Callable[..., None]) -> None:
    """Call `after(result, *args)` when the function `owner.name` returns."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        after(result, *args)
        return result

    setattr(owner, name, call)


class TimedFunction:
    """Times a function on one thread: an error in it passes through no Python frame of ours.

    Before each call `__call__` is looked up, which begins it. What is called is made for this
    one call and is gone when it returns or raises, which ends it.
    """

    def __init__(self, original: Any, times: deque[float], thread: int) -> None:
        self.__wrapped__ = original
        self.times = times
        self.thread = thread

    @property
    def __call__(self) -> Any:
        if get_ident() != self.thread:
            return self.__wrapped__  # an input thread, whose work is not the step's
        call = _TimedCall(self.__wrapped__)
        call.times = self.times
        call.began_s = now()
        return call


class _TimedCall(functools.partial[Any]):
    times: deque[float]
    began_s: float

    def __del__(self) -> None:
        self.times.append(now() - self.began_s)


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
