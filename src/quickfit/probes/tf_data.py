"""Watches tf.data: where each operation was written, and the model of every pipeline that runs."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from threading import get_ident
from types import ModuleType
from typing import Any

from quickfit.pipeline_model.snapshot import nodes_to_json, recent_gaps
from quickfit.probes._borrowed import Borrowed
from quickfit.probes._guard import guarded
from quickfit.probes._hooks import notice_calls
from quickfit.probes._imports import Patch, patching
from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, Loop, State, WatchedIterator, now
from quickfit.probes.tf_data_chain import DATASETS, describe_chain, patch_datasets

ITERATORS = "tensorflow.python.data.ops.iterator_ops"
# Pipelines read at one time: the newest ones. A script may hold many iterators open.
MAX_WATCHED = 4
# An iterator that no step has used yet is asked for its model after this long.
SETTLING_S = 0.1
# What is recorded of an iterator that no loop has taken yet.
NO_LOOP, WAITING = 0, "waiting"
# After so many tries without a model, an iterator has none.
MAX_FAILURES = 2
# A script that calls `fit` for every batch is not slowed by reading each of its pipelines.
MAX_READ_LOOPS = 16
# The background thread and the thread of a loop read in turn.
_reading = threading.Lock()


def new_probe() -> Probe:
    """Return the probe of tf.data pipelines."""
    return Probe("tf_data", needs=(DATASETS, ITERATORS))


def patches() -> dict[str, Patch]:
    """Return what to patch after which import."""
    return {
        DATASETS: patching("tf_data", patch_datasets),
        ITERATORS: patching("tf_data", _patch_iterators),
    }


def _patch_iterators(module: ModuleType) -> None:
    notice_calls(module.OwnedIterator, "_create_iterator", _iterator_made)


def _iterator_made(iterator: Any) -> None:
    state = Current.state
    if state is None or state.is_waiting:
        return
    if not state.probes["tf_data"].is_off:
        guarded(state.probes["tf_data"], _watch_iterator)(iterator, state)


def _watch_iterator(iterator: Any, state: State) -> None:
    loop, thread = state.current_loop(), get_ident()
    if loop is not None and loop.kind != "fit":
        loop = None  # a loop of the script takes an iterator when it asks for its first batch
    phase, steps = (loop.phase, loop.steps) if loop is not None else ("train", 0)
    number = state.new_id("iterator")
    watched = WatchedIterator(number, weakref.ref(iterator), loop, phase, now(), thread, steps)
    state.iterators = [w for w in state.iterators[-32:] if w.iterator() is not None] + [watched]


def read_pipelines(state: State) -> None:
    """Record the model of every pipeline that feeds a running loop."""
    if not _reading.acquire(blocking=False):
        return  # the other thread is at it
    try:
        _read_pipelines(state)
    finally:
        _reading.release()


def _read_pipelines(state: State) -> None:
    used = [w for w in state.iterators if w.loop is not None and not w.loop.is_over]
    for watched in used[-MAX_WATCHED:]:
        _borrow(watched, state, _read_used)


def _borrow(
    watched: WatchedIterator, state: State, read: Callable[[WatchedIterator, Any, State], None]
) -> None:
    """Read an iterator, if it is still there, so that it ends where it would without us."""
    borrowed = Borrowed(watched.iterator())
    try:
        if borrowed.value is not None:
            read(watched, borrowed.value, state)
    finally:
        borrowed.give_back(watched.thread)


def _read_used(watched: WatchedIterator, iterator: Any, state: State) -> None:
    if not watched.has_model or not _is_ready(watched, iterator):
        return
    if watched.dataset_id is None or watched.was_waiting:
        _describe(watched, iterator, state)
    if _has_autotune(iterator):
        _read_model(watched, iterator, state)
    else:
        watched.has_model = False
        state.writer.add("notes", (now(), "no pipeline model: autotune is off"))


def read_at_step(loop: Loop, state: State) -> None:
    """Record the pipelines of a loop on its own thread: a short training has no other readings.

    Called after a few of its first steps and at the end of its first epochs, while the iterator
    is there for certain.
    """
    probe = state.probes["tf_data"]
    if probe.is_off or loop.id > MAX_READ_LOOPS:
        return
    guarded(probe, read_pipelines)(state)


def read_waiting(state: State) -> None:
    """Record the model of the newest pipelines that no loop has taken, while nothing moves.

    A loop of the script's own is known after its second batch, and `evaluate` after its
    twentieth; the first may take minutes. When a loop takes such an iterator, its row becomes
    the loop's.
    """
    waiting = [w for w in state.iterators if w.loop is None and w.has_model and not w.failures]
    for watched in waiting[-MAX_WATCHED:]:
        _borrow(watched, state, _read_untaken)


def _read_untaken(watched: WatchedIterator, iterator: Any, state: State) -> None:
    if not _is_ready(watched, iterator) or not _has_autotune(iterator):
        return
    if watched.dataset_id is None:
        _describe(watched, iterator, state)
    _read_model(watched, iterator, state)


def _is_ready(watched: WatchedIterator, iterator: Any) -> bool:
    """Tell whether TensorFlow has set an iterator up; asked earlier, it warns on stderr."""
    is_used = watched.loop is not None and watched.loop.steps > watched.steps_before
    is_old = now() - watched.created_s > SETTLING_S
    # The counter is set when all else is; the resource is there before.
    is_set_up = hasattr(iterator, "_get_next_call_count")
    return (is_used or is_old) and is_set_up and hasattr(iterator, "_iterator_resource")


def _has_autotune(iterator: Any) -> bool:
    """Tell whether the pipeline has a model at all; asked without, TensorFlow warns on stderr."""
    options = getattr(iterator, "_dataset", None)
    options = options.options() if options is not None else None
    return options is None or options.autotune.enabled is not False


def _read_model(watched: WatchedIterator, iterator: Any, state: State) -> None:
    experimental = sys.modules.get("tensorflow.python.data.experimental.ops.iterator_model_ops")
    if experimental is None:
        return
    try:
        proto = experimental.get_model_proto(iterator)
    except Exception as error:  # autotune off (NotFound), graph mode, a distributed iterator
        # Between its creation and its first use an iterator has no model yet.
        watched.failures += 1
        if watched.loop is None:
            return
        if watched.failures >= MAX_FAILURES:
            watched.has_model = False
            state.writer.add("notes", (now(), f"no pipeline model: {type(error).__name__}"))
        return
    at_s = now()
    if proto.output not in proto.nodes:
        return
    elements = proto.nodes[proto.output].num_elements
    gaps, gap_s = recent_gaps(proto, elements - watched.elements)
    watched.elements = elements
    state.writer.add(
        "pipelines", (watched.id, at_s, gaps, gap_s, proto.output, nodes_to_json(proto))
    )


def _describe(watched: WatchedIterator, iterator: Any, state: State) -> None:
    """Record the chain of operations behind an iterator: once, and when a loop takes it."""
    dataset, loop = getattr(iterator, "_dataset", None), watched.loop
    if dataset is None:
        return
    watched.dataset_id = describe_chain(dataset, state)
    if loop is not None and watched.was_waiting:
        watched.failures = 0  # it may have been asked before it was used
    watched.was_waiting = loop is None
    of = (loop.id, watched.phase) if loop is not None else (NO_LOOP, WAITING)
    row = (watched.id, *of, watched.dataset_id, watched.created_s)
    state.writer.add("iterators", row)


def _unlock_after_fork() -> None:
    global _reading
    _reading = threading.Lock()


os.register_at_fork(after_in_child=_unlock_after_fork)
