"""Times every Keras callback, and marks steps, by iterating the list of callbacks for Keras.

`CallbackList` runs each of its hooks as `for callback in self.callbacks`. With a list that
knows the time whenever Keras asks for the next callback, both the step boundaries and the time
per callback are there, and an error in a callback passes through no code of ours.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from quickfit.probes._places import Place, is_user_file, place_of_code
from quickfit.probes._state import Current, Loop, State, now

thread_time = time.thread_time
# The first steps of a loop are watched in full: short runs need them all.
ALL_WATCHED = 100
# The method in which Keras converts the logs and then iterates the callbacks.
END_HOOK = "_on_train_batch_end"
Observer = Callable[["TimedCallbacks"], Iterator[Any]]


class TimedCallbacks(list[Any]):
    """The `callbacks` of a `CallbackList`; iterating it from a hook that is observed is timed."""

    def __init__(self, callbacks: list[Any], owner: Any, observers: dict[str, Observer]) -> None:
        super().__init__(callbacks)
        self.owner = weakref.ref(owner) if owner is not None else lambda: None
        self.observers = observers
        self.loop: Loop | None = None
        self.add_step: Callable[[tuple[Any, ...]], None] = _drop
        self.after_step: Callable[[TimedCallbacks], None] = _drop
        # Called in the first step of an epoch, when its iterator is there.
        self.is_new_epoch = False
        self.first_step_begins: Callable[[TimedCallbacks], None] = _drop
        self.has_begin_hooks = True
        self.end_totals: list[list[float]] = []
        # Times of the step that is under way.
        self.begin_s = self.call_s = self.before_s = self.returned_s = 0.0
        # When the train function returned, of a step that is watched in full.
        self.function_end_s = 0.0
        # The step that is watched in full next, and what the last one told.
        self.watch_at = 0
        self.watched_at = 0
        self.last_cpu_s = self.usual_s = 0.0
        self.is_unsettled = False
        # Steps of a call that may still turn out to be no loop.
        self.pending: list[tuple[Any, ...]] = []

    def __iter__(self) -> Iterator[Any]:
        observer = self.observers.get(sys._getframe(1).f_code.co_name)
        state = Current.state
        if observer is None or state is None or state.is_paused:
            return list.__iter__(self)
        return observer(self)

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        return (list, (list(list.__iter__(self)),))

    def settle(self, end_s: float) -> None:
        """Record the step whose callbacks were not watched, now that it is known to be over."""
        loop = self.loop
        self.is_unsettled = False
        if loop is not None:
            call_s, after_s = self.returned_s - self.call_s, end_s - self.returned_s
            times = (self.begin_s, call_s, None, self.before_s + after_s, None, end_s, None, None)
            self.add_step((loop.id, loop.epoch, loop.steps, *times))
            self.begin_s = 0.0

    def settle_last(self) -> None:
        """Record the last step before a pause, with callbacks as long as they usually are."""
        if self.is_unsettled:
            # Never later than now: the next step may begin at once.
            self.settle(min(self.returned_s + self.usual_s, now()))


def _drop(_: Any) -> None:
    """Take a step that belongs to no loop."""


def step_begins(callbacks: TimedCallbacks) -> Iterator[Any]:
    """Observe `on_train_batch_begin`: the step begins, then the train function is called."""
    begin_s = now()
    if callbacks.is_unsettled:
        callbacks.settle(begin_s)
    callbacks.begin_s = begin_s
    loop = callbacks.loop
    if loop is not None and loop.steps + 1 >= callbacks.watch_at and loop.kind == "fit":
        _stamp_end(callbacks)
    if callbacks.is_new_epoch:
        callbacks.is_new_epoch = False
        callbacks.first_step_begins(callbacks)
        # What validation and callbacks at epochs computed is no part of the first step.
        callbacks.last_cpu_s = thread_time()
        callbacks.watched_at = loop.steps if loop is not None else 0
    if not callbacks.has_begin_hooks:
        # Keras's empty hooks take a microsecond; watching them would take as long again.
        callbacks.call_s = begin_s
        callbacks.before_s = 0.0
        return list.__iter__(callbacks)
    return _timed_begin(callbacks, begin_s)


def _stamp_end(callbacks: TimedCallbacks) -> None:
    """Have the time noted at which Keras calls the hook: only then it converts the logs."""
    owner = callbacks.owner()
    if owner is not None:
        callbacks.function_end_s = 0.0
        vars(owner)[END_HOOK] = _Stamp(callbacks)


class _Stamp:
    """Stands in an object's place of its own for a hook, once, and notes when it is called."""

    def __init__(self, callbacks: TimedCallbacks) -> None:
        # Not the owner itself: it could not be gone at once when `fit` raises.
        self.callbacks = callbacks

    @property
    def __call__(self) -> Any:
        self.callbacks.function_end_s = now()
        owner = self.callbacks.owner()
        vars(owner).pop(END_HOOK, None)
        return getattr(owner, END_HOOK)


def _timed_begin(callbacks: TimedCallbacks, begin_s: float) -> Iterator[Any]:
    yield from timed(callbacks, "on_train_batch_begin")
    callbacks.call_s = now()
    callbacks.before_s = callbacks.call_s - begin_s


def step_ends(callbacks: TimedCallbacks) -> Iterator[Any]:
    """Observe `on_train_batch_end`: the train function has returned, the step ends.

    This is reached in every step, and after a step of the model nothing of ours is in the
    processor's caches. So of many steps only some are watched in full; of the others one time
    is taken, and the beginning of the next step tells how long their callbacks took.
    """
    loop = callbacks.loop
    if loop is None or callbacks.begin_s == 0.0:
        return list.__iter__(callbacks)
    loop.steps += 1
    if loop.steps >= callbacks.watch_at:
        return _watched_end(callbacks, loop)
    callbacks.returned_s = now()
    callbacks.is_unsettled = True
    return list.__iter__(callbacks)


def _watched_end(callbacks: TimedCallbacks, loop: Loop) -> Iterator[Any]:
    """Time every callback, and the CPU of the thread, at the end of one step."""
    cpu_s = began_cpu_s = thread_time()
    returned_s = began = now()
    logs_s = returned_s - callbacks.function_end_s if callbacks.function_end_s else None
    totals = callbacks.end_totals
    if len(totals) < len(callbacks):
        totals.extend([0, 0.0, 0.0] for _ in range(len(callbacks) - len(totals)))
    items = list.__iter__(callbacks)
    for total, callback in zip(totals, items, strict=False):
        yield callback
        ended, ended_cpu_s = now(), thread_time()
        total[0] += 1
        total[1] += ended - began
        total[2] += ended_cpu_s - began_cpu_s
        began, began_cpu_s = ended, ended_cpu_s
    yield from items  # what a callback has added to the list
    end_cpu_s = thread_time()
    since = max(loop.steps - callbacks.watched_at, 1)
    callbacks.add_step(
        (
            loop.id,
            loop.epoch,
            loop.steps,
            callbacks.begin_s,
            returned_s - callbacks.call_s,
            logs_s,
            callbacks.before_s + began - returned_s,
            end_cpu_s - cpu_s,
            began,
            (end_cpu_s - callbacks.last_cpu_s) / since,
            None,
        )
    )
    callbacks.last_cpu_s = end_cpu_s
    callbacks.usual_s = began - returned_s
    callbacks.watched_at = loop.steps
    callbacks.watch_at = _next_watched(loop.steps)
    callbacks.begin_s = 0.0
    callbacks.after_step(callbacks)


def _next_watched(step: int) -> int:
    """Return the step to watch in full next: all at first, then every 12th to 22nd.

    The distance varies, so that a callback that works every n-th step is neither always nor
    never seen at work.
    """
    if step < ALL_WATCHED:
        return step + 1
    return step + 1 + unwatched_after(step)


def unwatched_after(step: int) -> int:
    """Return how many steps after one that was watched are not."""
    return 11 + (step * 2_654_435_761 >> 9) % 11


def timed(callbacks: TimedCallbacks, hook: str) -> Iterator[Any]:
    """Yield the callbacks, adding the time until the next one is asked for to its total."""
    loop = callbacks.loop
    items = list.__iter__(callbacks)
    if loop is None:
        yield from items
        return
    totals = loop.hook_totals.setdefault(hook, [])
    began, began_cpu_s = now(), thread_time()
    for position, callback in enumerate(items):
        yield callback
        ended, ended_cpu_s = now(), thread_time()
        if position == len(totals):  # the first time, or a callback was added since
            totals.append([0, 0.0, 0.0])
        total = totals[position]
        total[0] += 1
        total[1] += ended - began
        total[2] += ended_cpu_s - began_cpu_s
        began, began_cpu_s = ended, ended_cpu_s


def has_begin_hooks(callbacks: TimedCallbacks) -> bool:
    """Tell whether any callback does something before a step."""
    base = getattr(sys.modules.get("keras.src.callbacks.callback"), "Callback", None)
    names = ("on_train_batch_begin", "on_batch_begin")
    return base is None or any(
        name in vars(callback) or getattr(type(callback), name, None) is not getattr(base, name)
        for callback in list.__iter__(callbacks)
        for name in names
    )


def describe(callbacks: TimedCallbacks) -> list[tuple[str, dict[str, Place | None]]]:
    """Return class name and the place of each hook for every callback of the list."""
    hooks = ("on_train_batch_begin", "on_train_batch_end", "on_epoch_begin", "on_epoch_end")
    return [
        (_name(callback), {hook: _hook_place(callback, hook) for hook in hooks})
        for callback in list.__iter__(callbacks)
    ]


def _name(callback: Any) -> str:
    """Return the name of a callback's class; quickfit's own has none, and is not told of."""
    cls = type(callback)
    return "" if cls.__module__.startswith("quickfit.") else cls.__name__


def are_users(callbacks: TimedCallbacks) -> list[int]:
    """Return, for every callback, whether its class is written outside Keras."""
    return [
        int(not type(callback).__module__.startswith(("keras.", "tensorflow.")))
        for callback in list.__iter__(callbacks)
    ]


def _hook_place(callback: Any, hook: str) -> Place | None:
    # Keras's default `on_train_batch_end` calls `on_batch_end`, which users override as well.
    older = {"on_train_batch_begin": "on_batch_begin", "on_train_batch_end": "on_batch_end"}
    for name in (hook, older.get(hook, hook)):
        method = getattr(callback, name, None)
        code = getattr(getattr(method, "__func__", method), "__code__", None)
        if code is not None and is_user_file(code.co_filename):
            return place_of_code(code)
    return None


def write_totals(state: State) -> None:
    """Record the running totals of every callback of the loops that run now or just ended."""
    for loop in state.loops[-3:]:
        write_loop_totals(loop, state)


def write_loop_totals(loop: Loop, state: State) -> None:
    """Record the running totals of every callback of one loop."""
    for hook, totals in list(loop.hook_totals.items()):
        described = zip(loop.callback_places, totals, strict=False)
        for position, ((name, places), total) in enumerate(described):
            if not total[0] or not name:
                continue
            place = state.source(places.get(hook))
            file, line = (place.file, place.line) if place else (None, None)
            is_user = loop.callback_is_user[position] if loop.callback_is_user else None
            row = (loop.id, position, hook, name, file, line, int(total[0]), total[1], total[2])
            state.writer.add("callbacks", (*row, is_user))


def bench_list(callbacks: int) -> TimedCallbacks:
    """Return a list with the step observers on, for measuring what they cost."""
    observers: dict[str, Observer] = {"bench_begin": step_begins, "bench_end": step_ends}
    bench = TimedCallbacks([None] * callbacks, None, observers)
    bench.loop = Loop(0, "bench", None, 0.0, 0.0, 0, {})
    bench.loop.steps = ALL_WATCHED
    sink: deque[tuple[Any, ...]] = deque(maxlen=1)
    bench.add_step = sink.append
    bench.has_begin_hooks = False
    return bench


def run_bench_step(callbacks: Any) -> None:
    """Iterate a list twice as Keras does in one step."""

    def bench_begin() -> None:
        for _ in callbacks:
            pass

    def bench_end() -> None:
        for _ in callbacks:
            pass

    bench_begin()
    bench_end()
