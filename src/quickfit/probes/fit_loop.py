"""Watches `Model.fit`: where it is called, its epochs, its steps and its validation."""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any

from quickfit.probes import callbacks as cb
from quickfit.probes import stopping
from quickfit.probes._guard import fail
from quickfit.probes._hooks import notice_calls
from quickfit.probes._imports import Patch, patching
from quickfit.probes._places import Place, user_place
from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, Loop, State, now

TRAINER = "keras.src.backend.tensorflow.trainer"
CALLBACK_LIST = "keras.src.callbacks.callback_list"
BASE_TRAINER = "keras.src.trainers.trainer"
# Loops that are remembered: a script may call `fit` a million times.
MAX_LOOPS = 16


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
    if state is None or state.probes["fit_loop"].is_off:
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
    if owner is None or _fit_frame() is None:
        return  # a CallbackList the user drives by hand
    thread = threading.get_ident()
    entered_s, place = state.entered.pop(thread, (now(), None))
    place = state.source(user_place(_fit_frame()) or place)
    loop = Loop(state.new_id("loop"), "fit", place, entered_s, now(), thread, {})
    loop.facts = _facts(owner, state)
    loop.callback_places = cb.describe(callbacks)
    callbacks.loop = loop
    callbacks.add_step = state.writer.add_step
    callbacks.after_step = _after_step
    callbacks.end_totals = loop.hook_totals.setdefault("on_train_batch_end", [])
    callbacks.has_begin_hooks = cb.has_begin_hooks(callbacks)
    callbacks.last_cpu_s = cb.thread_time()
    state.loops = [*state.loops[-MAX_LOOPS:], loop]
    loop.outer = state.loop_of_thread.get(thread)
    state.loop_of_thread[thread] = loop
    # An error in `fit` skips `on_train_end`; the list of callbacks goes with the error.
    loop.abandoned = weakref.ref(owner, lambda _: _leave(loop, state))
    _write_loop(loop, state)


def _loop_ends(callbacks: cb.TimedCallbacks, state: State) -> None:
    loop = callbacks.loop
    if loop is not None:
        _leave(loop, state)
        _write_loop(loop, state)
        cb.write_loop_totals(loop, state)


def _leave(loop: Loop, state: State) -> None:
    loop.is_over = True
    if state.loop_of_thread.get(loop.thread) is loop:
        del state.loop_of_thread[loop.thread]
        if loop.outer is not None and not loop.outer.is_over:
            state.loop_of_thread[loop.thread] = loop.outer


def _write_loop(loop: Loop, state: State) -> None:
    import json

    file, line = (loop.place.file, loop.place.line) if loop.place else (None, None)
    end_s = now() if loop.is_over else None
    facts = json.dumps(loop.facts, default=str)
    row = (loop.id, loop.kind, file, line, loop.entered_s, loop.begin_s, loop.first_step_s)
    state.writer.add("loops", (*row, end_s, str(loop.thread), facts))


def _settle(callbacks: cb.TimedCallbacks, state: State) -> None:
    callbacks.settle_last()


def _epoch_begins(callbacks: cb.TimedCallbacks, state: State) -> None:
    loop = callbacks.loop
    if loop is not None:
        loop.epoch += 1
        loop.epoch_begin_s = now()
        loop.validation_s = 0.0
        loop.phase = "train"


def _epoch_ends(callbacks: cb.TimedCallbacks, state: State) -> None:
    loop = callbacks.loop
    if loop is not None:
        row = (loop.id, loop.epoch, loop.epoch_begin_s, now(), loop.validation_s)
        state.writer.add("epochs", row)


def _validation_begins(callbacks: cb.TimedCallbacks, state: State) -> None:
    callbacks.settle_last()
    if callbacks.loop is not None:
        callbacks.loop.phase = "validation"
        callbacks.loop.validation_begin_s = now()


def _validation_ends(callbacks: cb.TimedCallbacks, state: State) -> None:
    if callbacks.loop is not None:
        callbacks.loop.phase = "train"
        callbacks.loop.validation_s += now() - callbacks.loop.validation_begin_s


def _first_step_ends(callbacks: cb.TimedCallbacks, state: State) -> None:
    loop, owner = callbacks.loop, callbacks.owner()
    if loop is not None and owner is not None:
        if "parameters" not in loop.facts:
            _count_parameters(owner.model, loop.facts)
        _write_loop(loop, state)


def _after_step(callbacks: cb.TimedCallbacks) -> None:
    """Count a step; note the first one; end the script where that was asked for."""
    state, loop = Current.state, callbacks.loop
    if state is None or loop is None:
        return
    state.steps += loop.facts.get("steps_per_execution", 1)
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
    "on_train_batch_begin": cb.step_begins,
    # Keras runs the hook in a method of its own name with a leading underscore.
    "_on_train_batch_end": cb.step_ends,
}


def _fit_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "fit" and "callbacks" in frame.f_code.co_varnames:
            return frame
        frame = frame.f_back
    return None


def _facts(owner: Any, state: State) -> dict[str, Any]:
    """Return what decides how this `fit` runs: model, input, compilation, batch."""
    model = owner.model
    facts: dict[str, Any] = {
        "model": getattr(model, "name", None),
        "run_eagerly": bool(getattr(model, "run_eagerly", False)),
        "jit_compile": getattr(model, "jit_compile", None),
        "steps_per_execution": int(getattr(model, "steps_per_execution", 1) or 1),
        "steps": (owner.params or {}).get("steps"),
        "epochs": (owner.params or {}).get("epochs"),
        "optimizer": type(getattr(model, "optimizer", None)).__name__,
        "functions_run_eagerly": _functions_run_eagerly(),
    }
    _count_parameters(model, facts)
    facts.update(_input_facts())
    compiled: Place | None = state.kept.get(f"compile {id(model)}")
    eager: Place | None = state.kept.get("run_functions_eagerly")
    for name, place in (("compile", compiled), ("run_functions_eagerly", eager)):
        if place is not None:
            state.source(place)
            facts[f"{name}_file"], facts[f"{name}_line"] = place.file, place.line
    return facts


def _count_parameters(model: Any, facts: dict[str, Any]) -> None:
    # Keras builds a model without an input shape in its first step; before that it has no count.
    with contextlib.suppress(Exception):
        facts["parameters"] = int(model.count_params())


def _functions_run_eagerly() -> bool:
    module = sys.modules.get("tensorflow.python.eager.polymorphic_function.eager_function_run")
    return bool(getattr(module, "RUN_FUNCTIONS_EAGERLY", False))


def _input_facts() -> dict[str, Any]:
    frame = _fit_frame()
    adapter = None
    if frame is not None:
        adapter = getattr(frame.f_locals.get("epoch_iterator"), "data_adapter", None)
    if adapter is None:
        return {"input": "unknown"}
    kinds = {
        "GeneratorDataAdapter": "generator",
        "PyDatasetAdapter": "pydataset",
        "TFDatasetAdapter": "tf.data",
        "ArrayDataAdapter": "arrays",
    }
    facts: dict[str, Any] = {"input": kinds.get(type(adapter).__name__, type(adapter).__name__)}
    with contextlib.suppress(Exception):  # not every adapter knows its batch size
        facts["batch_size"] = adapter.batch_size
    return facts
