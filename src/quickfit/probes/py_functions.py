"""Times the Python that a compiled step calls: `tf.numpy_function`, `tf.py_function`.

TensorFlow keeps such functions in one registry, under a token that is written into the graph. When
a token is made, the stack tells whose graph it goes into: that of a dataset's function or that of
a step. Every call goes through the registry's `__call__`; it begins when that is looked up, its
token is known when the registry's `get` is asked for it, and it ends when the object that was
handed out for this one call is gone. No frame of ours is in a traceback.

A script whose graphs call Python in dataset functions only pays for one look-up per call.
"""

from __future__ import annotations

import functools
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from threading import get_ident
from types import FrameType, ModuleType
from typing import Any

from quickfit.probes._guard import fail, guarded, is_of_handler
from quickfit.probes._hooks import call_once, wrap_quick
from quickfit.probes._imports import Patch, patching
from quickfit.probes._places import Place, place_of_function
from quickfit.probes._probe import Probe
from quickfit.probes._sites import is_eager
from quickfit.probes._state import Current, State, now
from quickfit.probes.retracing import line_of

SCRIPT_OPS = "tensorflow.python.ops.script_ops"
# Nothing is patched here: their frames tell whose graph is being built.
_TRACING = (
    "tensorflow.python.framework.func_graph",
    "tensorflow.python.data.ops.structured_function",
)
_REGISTRY_FILE = "/script_ops.py"
_AUTOGRAPH_FILE = "/autograph/impl/api.py"
_GRADIENT, _GRADIENT_MAKER = "eagerly_executed_grad", "_EagerPyFuncGrad"
# The registry's own work before and after a function: whose function that was is not on the stack.
_CONVERTING = ("_convert", "get")
# AutoGraph makes `for batch in dataset` of a compiled function a scan over the dataset; its body
# is traced as a dataset's function although it is the script's step.
_LOOP_BODIES = ("scan_body", "reduce_body")
# Keras traces these under one name; only the first one trains.
_KERAS_STEPS = ("train_step", "test_step", "predict_step")
# Tokens and lines that are told apart: a script that traces more often has another problem.
MAX_TOKENS = 10_000
MAX_FUNCTIONS = 500
# TensorFlow's pools have a thread per core; the threads of a dataset come and go.
MAX_THREADS = 1_000
# Loops looked at for the one that runs: one in a callback of another, and that one.
MAX_NESTED = 4

thread_time = time.thread_time
_Totals = dict[tuple[int, int], list[float]]


class StepFunction:
    """A Python function that the graph of a step calls.

    Args:
        number: tells it from the others.
        name: of the function.
        place: where it is written; None for a function of C.
        called_at: the user's line that put it into the graph.
        graph: the function of the script or of Keras that was traced then.
    """

    def __init__(
        self, number: int, name: str, place: Place | None, called_at: Place | None, graph: str
    ) -> None:
        self.number = number
        self.name = name
        self.place = place
        self.called_at = called_at
        self.graph = graph


class _ThreadCalls:
    """The calls of one thread: what happened since they were last added up, and totals."""

    def __init__(self) -> None:
        # Of a call: (-begin, CPU, loop), (token,), and (end, CPU).
        self.events: deque[Any] = deque()
        self.open: list[list[Any]] = []
        # By function and loop: calls, seconds, CPU seconds, the longest call.
        self.totals: _Totals = {}
        # Of C functions only: see `stamper`.
        clocks: Iterator[Any] = zip(iter(now, None), iter(thread_time, None), strict=False)
        self.note_end = functools.partial(next, map(self.events.append, clocks))

    def add_up(self) -> None:
        """Add the calls that have ended to the totals; on the thread itself."""
        events = [self.events.popleft() for _ in range(len(self.events))]
        _add_calls(events, self.open, self.totals)

    def totals_now(self) -> _Totals:
        """Return the totals with the calls that are not added up yet; on any thread."""
        totals = {key: list(total) for key, total in list(self.totals.items())}
        _add_calls(list(self.events), [list(one) for one in list(self.open)], totals)
        return totals


_threads: dict[int, _ThreadCalls] = {}
_functions: dict[tuple[Any, ...], StepFunction] = {}
_of_token: dict[str, StepFunction] = {}
# (file, name) of the functions of steps and of datasets, as they stand on a stack.
_step_entries: set[tuple[str, str]] = set()
_input_entries: set[tuple[str, str]] = set()
_NO_CODE = ("", "")


def new_probe() -> Probe:
    """Return the probe of Python functions in graphs."""
    return Probe("py_functions", needs=(SCRIPT_OPS, *_TRACING))


def patches() -> dict[str, Patch]:
    """Return what to patch after which import."""
    return {name: patching("py_functions", _patch) for name in (SCRIPT_OPS, *_TRACING)}


def _patch(module: ModuleType) -> None:
    if module.__name__ != SCRIPT_OPS:
        return
    registry = module.FuncRegistry
    if isinstance(registry.__dict__["__call__"], _TimedSlot):
        return
    wrap_quick(registry, "insert", _note_inserted)
    wrap_quick(registry, "get", _note_token)
    registry.__call__ = _TimedSlot(registry.__dict__["__call__"])


def _note_inserted(token: str, _registry: Any, function: Any) -> None:
    state = Current.state
    if state is not None and not is_eager():
        guarded(state.probes["py_functions"], _describe)(token, function, sys._getframe(2), state)


def _describe(token: str, function: Any, frame: FrameType, state: State) -> None:
    """Keep what a token stands for, if it goes into the graph of a step."""
    if len(_of_token) >= MAX_TOKENS:
        state.probes["py_functions"].turn_off("off", f"more than {MAX_TOKENS} functions in graphs")
        return
    forward = _differentiated(frame)
    if forward is not None:
        if forward in _of_token:
            _of_token[token] = _of_token[forward]
        return
    function = getattr(function, "_func", function)  # `py_function` wraps it
    entry = _entry(function)
    if _is_of_dataset(frame):
        _input_entries.add(entry)
        return
    _step_entries.add(entry)
    place, called_at, graph = place_of_function(function), line_of(frame), _graph_name(frame)
    key = (place, called_at, graph)
    if key not in _functions and len(_functions) < MAX_FUNCTIONS:
        name = str(getattr(function, "__name__", type(function).__name__))[:80]
        _functions[key] = StepFunction(len(_functions) + 1, name, place, called_at, graph)
    if key in _functions:
        _of_token[token] = _functions[key]


def _differentiated(frame: FrameType) -> str | None:
    """Return the token whose gradient is being put into the graph; its time is the function's."""
    caller = frame.f_back
    if caller is None or caller.f_code.co_name != _GRADIENT_MAKER:
        return None
    token = caller.f_locals.get("token")
    return token.decode() if isinstance(token, bytes) else ""


def _entry(function: Any) -> tuple[str, str]:
    """Return the file and name that a function has on a stack."""
    for _ in range(20):
        inner = getattr(function, "__wrapped__", None) or getattr(function, "func", None)
        if inner is None:
            break
        function = inner
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    code = code or getattr(type(function).__call__, "__code__", None)
    return (code.co_filename, code.co_name) if code is not None else _NO_CODE


def _is_of_dataset(frame: FrameType | None) -> bool:
    """Tell whether the graph that is being built is that of a dataset's function."""
    is_loop_body = False
    while frame is not None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if file.endswith("/dataset_autograph.py") and name in _LOOP_BODIES:
            is_loop_body = True
        elif file.endswith("/structured_function.py") and name == "__init__":
            if not is_loop_body:
                return True
            is_loop_body = False
        frame = frame.f_back
    return False


def _graph_name(frame: FrameType | None) -> str:
    """Return the step of Keras that is traced, or else the outermost function that is."""
    outermost = ""
    while frame is not None:
        name = frame.f_code.co_name
        if name.removeprefix("tf__") in _KERAS_STEPS:
            return name.removeprefix("tf__")
        if name == "func_graph_from_py_func":
            outermost = str(frame.f_locals.get("name") or outermost)[:80]
        frame = frame.f_back
    return outermost


class _TimedSlot:
    """The registry's `__call__`: Python looks it up for every call, and for nothing else."""

    def __init__(self, method: Any) -> None:
        self.method = method

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        bound = self.method.__get__(instance, owner)
        if instance is None or not _of_token:
            return bound
        state = Current.state
        if state is None or state.is_paused or state.probes["py_functions"].is_off:
            return bound
        try:
            return _begin(bound, state)
        except Exception as error:  # anything: the user's training comes first
            if is_of_handler(error):
                raise
            fail(state.probes["py_functions"], error)
            return bound


def _begin(bound: Any, state: State) -> Any:
    calls = _threads.get(get_ident())
    if calls is None:
        if len(_threads) >= MAX_THREADS:
            detail = f"Python is called from more than {MAX_THREADS} threads"
            state.probes["py_functions"].turn_off("off", detail)
            return bound
        calls = _threads[get_ident()] = _ThreadCalls()
    if calls.events:
        calls.add_up()
    running = (loop.id for loop in state.loops[: -MAX_NESTED - 1 : -1] if not loop.is_over)
    begin = (-now(), thread_time(), next(running, 0))
    call = call_once(bound, calls.note_end)
    calls.events.append(begin)
    return call


def _note_token(_: Any, _registry: Any, token: Any = None, *_default: Any) -> None:
    calls = _threads.get(get_ident())
    # Asked for anything else than a call, no call has just begun.
    if calls is not None and calls.events and calls.events[-1][0] < 0:
        calls.events.append((token,))


def _add_calls(events: Iterable[Any], open_calls: list[list[Any]], totals: _Totals) -> None:
    """Add up the calls that end in some events; those that go on stay open."""
    for event in events:
        if len(event) == 1:
            open_calls[-1][3] = _of_token.get(event[0])
        elif event[0] < 0:
            open_calls.append([*event, None])
        elif open_calls:
            begin_s, begin_cpu_s, loop, function = open_calls.pop()
            if function is not None:
                wall_s = event[0] + begin_s
                total = totals.setdefault((function.number, loop), [0, 0.0, 0.0, 0.0])
                total[0] += 1
                total[1] += wall_s
                total[2] += event[1] - begin_cpu_s
                total[3] = max(total[3], wall_s)


def is_in_step(frames: tuple[tuple[str, int, str], ...]) -> bool:
    """Tell whether a stack, innermost frame first, is in a Python function of a step's graph."""
    if not _step_entries:
        return False
    is_called, last = False, ""
    for file, _, name in reversed(frames):
        if file.endswith(_REGISTRY_FILE):
            is_called, last = True, name
        elif is_called and not file.endswith(_AUTOGRAPH_FILE):
            if last in _CONVERTING:
                break
            entry = (file, name)
            return last == _GRADIENT or (entry in _step_entries and entry not in _input_entries)
    return is_called and not _input_entries


def write_totals(state: State) -> None:
    """Record the totals of every function that was called since they were last recorded."""
    written: dict[tuple[int, int], float] = state.kept.setdefault("py_functions", {})
    totals: _Totals = {}
    for calls in list(_threads.values()):
        for key, values in calls.totals_now().items():
            total = totals.setdefault(key, [0, 0.0, 0.0, 0.0])
            total[:3] = [old + new for old, new in zip(total[:3], values[:3], strict=True)]
            total[3] = max(total[3], values[3])
    numbered = {function.number: function for function in list(_functions.values())}
    for (number, loop), total in totals.items():
        if written.get((number, loop)) == total[0]:
            continue
        written[number, loop] = total[0]
        function = numbered[number]
        places = (state.source(function.place), state.source(function.called_at))
        lines = [part for at in places for part in ((at.file, at.line) if at else (None, None))]
        named = (number, loop, function.name, function.graph, *lines)
        state.writer.add("py_functions", (*named, int(total[0]), *total[1:]))


def forget() -> None:
    """Start afresh in a forked child: its threads are others, its graphs are the same."""
    _threads.clear()
