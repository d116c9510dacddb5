"""Watches calls of `evaluate` and `predict` that are long enough to be loops of their own.

A script may call `predict` a million times for one batch each; only a call of many batches is
recorded as a loop.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from quickfit.probes import _loops, stopping
from quickfit.probes import callbacks as cb
from quickfit.probes._fit_facts import facts_of, keras_frame
from quickfit.probes._places import user_place
from quickfit.probes._state import Current, Loop, State, now

# A call of fewer batches than this is no loop to speak of.
MIN_STEPS = 20


def begin(callbacks: cb.TimedCallbacks, state: State, kind: str) -> None:
    """Watch the batches of a call from its begin on, for the case that they become many."""
    frame = keras_frame(kind)
    if frame is None:
        return
    place, at_s = user_place(frame), now()
    loop = Loop(0, kind, place, at_s, at_s, threading.get_ident(), {})
    loop.trains, loop.epoch = False, 1
    callbacks.loop = loop
    callbacks.pending = []
    callbacks.add_step = callbacks.pending.append
    callbacks.after_step = _after_step
    callbacks.has_begin_hooks = False
    callbacks.last_cpu_s = cb.thread_time()


def end(callbacks: cb.TimedCallbacks, state: State) -> None:
    """End the call; a loop has its end recorded."""
    callbacks.settle_last()
    loop, callbacks.loop = callbacks.loop, None
    if loop is not None and loop.id:
        _loops.leave(loop, state)
        _loops.write(loop, state)


def step_begins(callbacks: cb.TimedCallbacks) -> Iterator[Any]:
    """Observe the begin of a batch; one of the validation inside `fit` is not of interest."""
    loop = callbacks.loop
    if loop is None or loop.kind == "fit":
        return list.__iter__(callbacks)
    return cb.step_begins(callbacks)


def step_ends(callbacks: cb.TimedCallbacks) -> Iterator[Any]:
    """Observe the end of a batch."""
    loop, state = callbacks.loop, Current.state
    if state is not None:
        state.looked += 1
    if loop is None or loop.kind == "fit":
        if state is not None and stopping.is_time_up(state):
            _stop()  # `--for` counts the time of validation as well
        return list.__iter__(callbacks)
    return cb.step_ends(callbacks)


def _after_step(callbacks: cb.TimedCallbacks) -> None:
    state, loop = Current.state, callbacks.loop
    if state is None or loop is None:
        return
    if loop.first_step_s is None:
        loop.first_step_s = now()
    # A short call inside a loop of the script's own is a part of its step, and ends with that.
    is_due = stopping.is_time_up(state) and (loop.id or state.current_loop() is None)
    if not loop.id and (loop.steps >= MIN_STEPS or is_due):
        _becomes_a_loop(callbacks, loop, state)
    if is_due:
        _loops.leave(loop, state)
        _loops.write(loop, state)
        _stop()
    if stopping.is_asked(state):
        callbacks.watch_at = 0  # every step may be the last one


def _stop() -> None:
    from quickfit.probes import session

    session.stop_now()


def _becomes_a_loop(callbacks: cb.TimedCallbacks, loop: Loop, state: State) -> None:
    loop.id = state.new_id("loop")
    owner = callbacks.owner()
    if owner is not None:
        loop.facts = {**facts_of(owner, state, loop.kind), "trains": False}
    state.source(loop.place)
    _loops.begin(loop, state)
    _loops.epoch_begins(loop, None, state)
    callbacks.add_step = state.writer.add_step
    for row in callbacks.pending:
        callbacks.add_step((loop.id, *row[1:]))
    callbacks.pending = []
    _loops.write(loop, state)
