"""Watches the calls a script makes itself: batches it asks for, compiled functions, saves.

`fit` has callbacks to follow it by; a loop that a script writes by hand is known only by what it
calls. No call leaves a frame of ours in a traceback: it begins when its method is looked up, and
ends when the object that was handed out for this one call is gone.
"""

from __future__ import annotations

import sys
from threading import get_ident
from types import CodeType, MethodType, ModuleType
from typing import Any

from quickfit.probes import _loops, iterator_ends
from quickfit.probes._guard import fail
from quickfit.probes._hooks import call_once
from quickfit.probes._imports import Patch, patching
from quickfit.probes._probe import Probe
from quickfit.probes._sites import is_eager
from quickfit.probes._state import Current, State, now
from quickfit.probes._thread_calls import ThreadCalls, note_training, of_this_thread, threads

FUNCTIONS = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
ITERATORS = "tensorflow.python.data.ops.iterator_ops"
DISTRIBUTED = "tensorflow.python.distribute.input_lib"
TAPES = "tensorflow.python.eager.backprop"
OPTIMIZERS = "keras.src.optimizers.base_optimizer"
TRAINER = "keras.src.backend.tensorflow.trainer"
MODELS = "keras.src.models.model"
CHECKPOINTS = "tensorflow.python.checkpoint.checkpoint"
SESSIONS = "tensorflow.python.client.session"

# By module: class, method, kind of call.
_METHODS = {
    FUNCTIONS: [("Function", "__call__", "function")],
    ITERATORS: [("OwnedIterator", "__next__", "next"), ("OwnedIterator", "get_next", "next")],
    DISTRIBUTED: [
        ("DistributedIteratorBase", "__next__", "next"),
        ("DistributedIteratorBase", "get_next", "next"),
    ],
    TAPES: [("GradientTape", "__enter__", "tape"), ("GradientTape", "gradient", "gradient")],
    OPTIMIZERS: [
        ("BaseOptimizer", "apply_gradients", "apply"),
        ("BaseOptimizer", "apply", "apply"),
    ],
    TRAINER: [
        ("TensorFlowTrainer", "train_on_batch", "train"),
        ("TensorFlowTrainer", "test_on_batch", "test"),
        ("TensorFlowTrainer", "predict_on_batch", "predict"),
        ("TensorFlowTrainer", "predict", "predict"),
        ("TensorFlowTrainer", "evaluate", "evaluate"),
    ],
    MODELS: [("Model", "save", "save"), ("Model", "save_weights", "save")],
    CHECKPOINTS: [("Checkpoint", "save", "save"), ("Checkpoint", "write", "save")],
    SESSIONS: [("BaseSession", "run", "session")],
}
# Inside `fit`, these count as well: a callback that saves or predicts.
_ASIDE = ("save", "predict", "evaluate", "test")
# While a graph is built, these say that the function being traced trains.
_GRADIENTS = ("tape", "gradient", "apply")


def new_probe() -> Probe:
    """Return the probe of the script's own calls."""
    return Probe("calls", needs=(FUNCTIONS, ITERATORS, TRAINER))


def patches() -> dict[str, Patch]:
    """Return what to patch after which import."""
    return {module: patching("calls", _patch) for module in _METHODS}


def _patch(module: ModuleType) -> None:
    for owner, name, kind in _METHODS[module.__name__]:
        cls = getattr(module, owner)
        method = cls.__dict__[name]
        if not isinstance(method, _Watched):
            is_special = name.startswith("__")
            watched = _WatchedSlot if is_special else _Watched
            setattr(cls, name, watched(method, kind))
    if module.__name__ == TRAINER:
        _time_logs(module)


class _Watched:
    """A method whose calls are noticed: looked up, it gives an object that watches each call."""

    def __init__(self, method: Any, kind: str) -> None:
        self.method = method
        self.kind = kind

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self.method.__get__(None, owner)
        bound, frame = self.method.__get__(instance, owner), sys._getframe(1)
        calls = threads.get(get_ident())
        if calls is not None and calls.skip and calls.passes_looked_up(instance, frame):
            return bound
        return _BoundMethod(bound, self.kind, (frame.f_lasti, frame.f_code))


class _WatchedSlot(_Watched):
    """A special method: Python looks it up for every call, and for nothing else."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self.method.__get__(None, owner)
        bound = self.method.__get__(instance, owner)
        # This is reached in every step, and after a step of the model nothing of ours is in the
        # processor's caches: the usual cases are decided here.
        calls = threads.get(get_ident())
        if calls is not None:
            if calls.fits:
                return bound
            if calls.skip and calls.passes(instance, sys._getframe(1)):
                return bound
        return _begun(bound, self.kind, instance, sys._getframe(1))


class _BoundMethod:
    # A bound method to everyone who looks at it; a script may keep it and call it often.

    def __init__(self, method: Any, kind: str, looked_up: tuple[int, CodeType]) -> None:
        self.__wrapped__ = method
        self._kind = kind
        self._looked_up = looked_up

    @property
    def __call__(self) -> Any:
        method, frame = self.__wrapped__, sys._getframe(1)
        # `next` of a distributed iterator calls its `get_next`; the script made one call.
        if self._kind == "next" and "/tensorflow/python/" in frame.f_code.co_filename:
            return method
        calls = threads.get(get_ident())
        if calls is not None:
            calls.looked_up = self._looked_up
        return _begun(method, self._kind, method.__self__, frame)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # as `isinstance` and `inspect.ismethod` see it
        return MethodType

    @property
    def __module__(self) -> Any:  # type: ignore[override]
        return self.__wrapped__.__module__

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self.__wrapped__.__doc__

    def __reduce__(self) -> Any:
        method = self.__wrapped__
        return getattr, (method.__self__, method.__name__)

    def __eq__(self, other: object) -> bool:
        return bool(self.__wrapped__ == getattr(other, "__wrapped__", other))

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def _begun(bound: Any, kind: str, subject: Any, frame: Any) -> Any:
    """Return what to call instead of a method: itself where the call does not count."""
    state = Current.state
    if state is None or state.is_paused or state.probes["calls"].is_off:
        return bound
    calls = threads.get(get_ident()) or of_this_thread()
    if calls.skip and kind not in _ASIDE and calls.passes(subject, frame):
        return bound
    try:
        if calls.fits:
            is_begun = _begin_aside(kind, subject, calls, state, frame)
        else:
            is_begun = _begin(kind, subject, calls, frame)
    except Exception as error:  # anything: the user's training comes first
        fail(state.probes["calls"], error)
        return bound
    if not is_begun:
        return bound
    return call_once(bound, calls.note_end)


def _begin(kind: str, subject: Any, calls: ThreadCalls, frame: Any) -> bool:
    if kind in _GRADIENTS:
        if not is_eager():
            note_training(subject, kind)
            return False
        if kind == "tape":
            calls.tape(frame)
            return False
    return calls.begin(kind, subject, frame)


def _begin_aside(kind: str, subject: Any, calls: ThreadCalls, state: State, frame: Any) -> bool:
    """Do the same inside `fit`, where only what a callback does counts."""
    if kind not in _ASIDE:
        return False
    loop = state.loop_of_thread.get(calls.thread)
    return calls.begin_aside(kind, subject, frame, loop.id if loop else 0)


def _time_logs(module: ModuleType) -> None:
    """Time how long Keras turns metrics into Python numbers after `train_on_batch`."""
    original = module.pythonify_logs
    if not isinstance(original, _Logs):
        module.pythonify_logs = _Logs(original)  # type: ignore[attr-defined]


class _Logs:
    """`pythonify_logs`, timed into the totals of the thread."""

    def __init__(self, original: Any) -> None:
        self.__wrapped__ = original

    @property
    def __call__(self) -> Any:
        calls = threads.get(get_ident())
        if calls is None or not calls.is_inside:
            return self.__wrapped__
        call = call_once(self.__wrapped__, calls.note_log_end)
        calls.log_stamps.append(-now())
        return call


def enter_fit(thread: int, change: int) -> None:
    """Note that Keras's own loop begins (1) or ends (-1) on a thread."""
    calls = threads.get(thread)
    if calls is None and thread == get_ident():
        calls = of_this_thread()
    if calls is not None:
        calls.fits = max(calls.fits + change, 0)
        if change > 0 and calls.loop is not None:
            calls.loop.leave(now())


def write_totals(state: State) -> None:
    """Record the totals of every line's calls, and of the ends of iterators."""
    mine = threads.get(get_ident())
    if mine is not None and mine.ends:
        mine.settle()
    iterator_ends.write_totals(state)
    found = list(threads.values())
    sites = [site for calls in found for site in calls.written.values()]
    sites += [site for calls in found for site in calls.aside_sites.values()]
    _loops.write_calls(sites, state)


def forget() -> None:
    """Start afresh in a forked child: its threads are others."""
    threads.clear()
