"""Watches `Model.fit`: where it is called, its epochs, its steps and its validation."""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from quickfit.probes import _loops, fit_shapes, iterator_ends, look_loop, stopping, tf_data
from quickfit.probes import callbacks as cb
from quickfit.probes._fit_facts import count_parameters, facts_of, keras_frame
from quickfit.probes._guard import fail
from quickfit.probes._hooks import notice_calls
from quickfit.probes._imports import Patch, patching
from quickfit.probes._places import user_place
from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, Loop, State, now
from quickfit.probes.calls import enter_fit

TRAINER = "keras.src.backend.tensorflow.trainer"
CALLBACK_LIST = "keras.src.callbacks.callback_list"
BASE_TRAINER = "keras.src.trainers.trainer"
# Steps after which the pipeline is read at once, and epochs at whose end: in a short training the
# background thread may come to read it once or not at all.
READ_AT_STEPS = frozenset((1, 2, 4, 8, 16, 32))
READ_EPOCHS = 3


def new_probe() -> Probe:
    """Return the probe of `fit` loops."""
    return Probe("fit_loop", needs=(TRAINER, CALLBACK_LIST, BASE_TRAINER))


def patches() -> dict[str, Patch]:
    """Return what to patch after which import."""
    return {
        TRAINER: patching("fit_loop", _patch_trainer),
        CALLBACK_LIST: patching("fit_loop", _patch_callback_list),
        BASE_TRAINER: patching("fit_loop", _patch_base_trainer),
    }


def _patch_trainer(module: ModuleType) -> None:
    notice_calls(module.TensorFlowTrainer, "fit", _note("fit"))


def _patch_base_trainer(module: ModuleType) -> None:
    notice_calls(module.Trainer, "compile", _note("compile"))


def _patch_callback_list(module: ModuleType) -> None:
    # Looked up in `CallbackList.__init__` right after the list of callbacks is set.
    notice_calls(module.CallbackList, "_configure_async_dispatch", _observe_callbacks)


def _note(method: str) -> Any:
    """Return what to do when `model.fit` or `model.compile` is looked up: keep time and place."""

    def notice(model: Any) -> None:
        state = Current.state
        if state is None or state.probes["fit_loop"].is_off:
            return
        place = user_place(sys._getframe(2))
        if method == "fit":
            state.entered[threading.get_ident()] = (now(), place)
        else:
            state.kept[f"compile {id(model)}"] = place

    return notice


def _observe_callbacks(callback_list: Any) -> None:
    state = Current.state
    if state is None or state.is_waiting or state.probes["fit_loop"].is_off:
        return
    with contextlib.suppress(AttributeError):  # a subclass may keep its callbacks elsewhere
        callback_list.callbacks = cb.TimedCallbacks(
            callback_list.callbacks, callback_list, _OBSERVERS
        )


def _observed(hook: str, before: Any, after: Any) -> cb.Observer:
    """Return an observer that runs `before` and `after` around one hook of the callbacks."""

    def observe(callbacks: cb.TimedCallbacks) -> Iterator[Any]:
        _safely(before, callbacks)
        yield from cb.timed(callbacks, hook)
        _safely(after, callbacks)

    return observe


def _safely(action: Any, callbacks: cb.TimedCallbacks) -> None:
    state = Current.state
    if action is None or state is None or state.probes["fit_loop"].is_off:
        return
    try:
        action(callbacks, state)
    except Exception as error:  # anything: the user's training comes first
        fail(state.probes["fit_loop"], error)


def _loop_begins(callbacks: cb.TimedCallbacks, state: State) -> None:
    owner = callbacks.owner()
    if owner is None or keras_frame() is None:
        return  # a CallbackList the user drives by hand
    thread = threading.get_ident()
    entered_s, place = state.entered.pop(thread, (now(), None))
    place = state.source(user_place(keras_frame()) or place)
    loop = Loop(state.new_id("loop"), "fit", place, entered_s, now(), thread, {})
    loop.facts = facts_of(owner, state)
    loop.callback_places = cb.describe(callbacks)
    loop.callback_is_user = cb.are_users(callbacks)
    callbacks.loop = loop
    callbacks.add_step = state.writer.add_step
    callbacks.after_step = _after_step
    callbacks.first_step_begins = _first_step_begins
    callbacks.end_totals = loop.hook_totals.setdefault("on_train_batch_end", [])
    callbacks.has_begin_hooks = cb.has_begin_hooks(callbacks)
    callbacks.last_cpu_s = cb.thread_time()
    enter_fit(thread, 1)
    _loops.begin(loop, state)
    # An error in `fit` skips `on_train_end`; the list of callbacks goes with the error.
    loop.abandoned = weakref.ref(owner, lambda _: _leave(loop, state))
    _loops.write(loop, state)


def _loop_ends(callbacks: cb.TimedCallbacks, state: State) -> None:
    loop = callbacks.loop
    if loop is not None:
        _leave(loop, state)
        _loops.write(loop, state)
        cb.write_loop_totals(loop, state)
        if state.after_loop is not None:
            state.after_loop()


def _leave(loop: Loop, state: State) -> None:
    if not loop.is_over:
        enter_fit(loop.thread, -1)
    _loops.leave(loop, state)


def _settle(callbacks: cb.TimedCallbacks, state: State) -> None:
    callbacks.settle_last()


def _epoch_begins(callbacks: cb.TimedCallbacks, state: State) -> None:
    loop = callbacks.loop
    if loop is not None:
        loop.epoch += 1
        loop.epoch_begin_s = now()
        loop.validation_s = 0.0
        loop.phase = "train"
        callbacks.is_new_epoch = True


def _epoch_ends(callbacks: cb.TimedCallbacks, state: State) -> None:
    loop = callbacks.loop
    if loop is not None:
        if loop.epoch <= READ_EPOCHS:
            tf_data.read_at_step(loop, state)
        row = (loop.id, loop.epoch, loop.epoch_begin_s, now(), loop.validation_s)
        state.writer.add("epochs", row)


def _validation_begins(callbacks: cb.TimedCallbacks, state: State) -> None:
    callbacks.settle_last()
    if callbacks.loop is None:
        look_loop.begin(callbacks, state, "evaluate")
    elif callbacks.loop.kind == "fit":
        callbacks.loop.phase = "validation"
        callbacks.loop.validation_begin_s = now()


def _validation_ends(callbacks: cb.TimedCallbacks, state: State) -> None:
    if callbacks.loop is not None and callbacks.loop.kind != "fit":
        look_loop.end(callbacks, state)
    elif callbacks.loop is not None:
        callbacks.loop.phase = "train"
        callbacks.loop.validation_s += now() - callbacks.loop.validation_begin_s


def _prediction_begins(callbacks: cb.TimedCallbacks, state: State) -> None:
    if callbacks.loop is None:
        look_loop.begin(callbacks, state, "predict")


def _prediction_ends(callbacks: cb.TimedCallbacks, state: State) -> None:
    if callbacks.loop is not None and callbacks.loop.kind != "fit":
        look_loop.end(callbacks, state)


def _first_step_begins(callbacks: cb.TimedCallbacks) -> None:
    _safely(_watch_iterators, callbacks)


def _watch_iterators(callbacks: cb.TimedCallbacks, state: State) -> None:
    if callbacks.loop is not None:
        iterator_ends.watch(callbacks.loop, state)


def _first_step_ends(callbacks: cb.TimedCallbacks, state: State) -> None:
    loop, owner = callbacks.loop, callbacks.owner()
    if loop is not None and owner is not None:
        if "parameters" not in loop.facts:
            count_parameters(owner.model, loop.facts)
        fit_shapes.note(owner.model, keras_frame(), loop.facts, state)
        _loops.write(loop, state)


def _after_step(callbacks: cb.TimedCallbacks) -> None:
    """Count a step; note the first one; end the script where that was asked for."""
    state, loop = Current.state, callbacks.loop
    if state is None or loop is None:
        return
    state.steps += loop.facts.get("steps_per_execution", 1)
    if loop.steps in READ_AT_STEPS:
        tf_data.read_at_step(loop, state)
    if loop.first_step_s is None:
        loop.first_step_s = now()
        _safely(_first_step_ends, callbacks)
    if stopping.is_asked(state):
        callbacks.watch_at = 0  # every step may be the last one
    if stopping.is_due(state):
        from quickfit.probes import session

        session.stop_now()


_OBSERVERS: dict[str, cb.Observer] = {
    "on_train_begin": _observed("on_train_begin", _loop_begins, None),
    "on_train_end": _observed("on_train_end", _settle, _loop_ends),
    "on_epoch_begin": _observed("on_epoch_begin", _epoch_begins, None),
    "on_epoch_end": _observed("on_epoch_end", _settle, _epoch_ends),
    "on_test_begin": _observed("on_test_begin", _validation_begins, None),
    "on_test_end": _observed("on_test_end", None, _validation_ends),
    "on_predict_begin": _observed("on_predict_begin", _prediction_begins, None),
    "on_predict_end": _observed("on_predict_end", None, _prediction_ends),
    "on_train_batch_begin": cb.step_begins,
    "on_test_batch_begin": look_loop.step_begins,
    "_on_test_batch_end": look_loop.step_ends,
    "on_predict_batch_begin": look_loop.step_begins,
    "_on_predict_batch_end": look_loop.step_ends,
    # Keras runs the hook in a method of its own name with a leading underscore.
    "_on_train_batch_end": cb.step_ends,
}
