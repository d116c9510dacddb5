"""Python functions in graphs: which are the step's, how long each call took, and no trace of us."""

import sys
import threading
import traceback
from types import ModuleType, SimpleNamespace

import pytest

from quickfit.probes import py_functions
from quickfit.probes._state import Loop
from quickfit.recording.schema import columns

CONTEXT = "tensorflow.python.eager.context"


class FuncRegistry:
    """Keeps functions by token, as TensorFlow's does."""

    def __init__(self):
        self._funcs = {}

    def insert(self, func):
        token = f"pyfunc_{len(self._funcs)}"
        self._funcs[token] = func
        return token

    def get(self, token, default=None):
        return self._funcs.get(token, default)

    def __call__(self, token, device, args):
        func = self.get(token, None)
        return func(*args)


class EagerFunc:
    """Wraps the function of a `py_function`."""

    def __init__(self, func):
        self._func = func

    def __call__(self, *args):
        return self._func(*args)


def _EagerPyFuncGrad(op):  # noqa: N802 - TensorFlow's name
    token = op
    return token, internal_py_func(CURRENT["registry"], CURRENT["gradient"])


CURRENT = {}


def internal_py_func(registry, func):
    """Stand where TensorFlow puts a function into a graph."""
    return registry.insert(func)


@pytest.fixture
def library(state, monkeypatch):
    """Return a registry that is watched, while a graph is being built."""
    for table in (
        py_functions._threads,
        py_functions._functions,
        py_functions._of_token,
        py_functions._step_entries,
        py_functions._input_entries,
    ):
        table.clear()
    context = SimpleNamespace(executing_eagerly=lambda: library.is_eager)
    monkeypatch.setitem(sys.modules, CONTEXT, context)
    module = ModuleType(py_functions.SCRIPT_OPS)
    # A class of its own for each test: the patch stays.
    registry_class = type("FuncRegistry", (), dict(vars(FuncRegistry)))
    module.FuncRegistry, module.EagerFunc = registry_class, EagerFunc
    module._EagerPyFuncGrad = _EagerPyFuncGrad
    py_functions.patches()[py_functions.SCRIPT_OPS](module)
    assert not state.probes["py_functions"].is_off, state.probes["py_functions"].detail
    library = SimpleNamespace(registry=registry_class(), is_eager=False, state=state)
    CURRENT["registry"] = library.registry
    return library


@pytest.fixture
def ticks(monkeypatch):
    """Let time go by only where a test says so."""
    times = SimpleNamespace(wall_s=100.0, cpu_s=1.0)
    monkeypatch.setattr(py_functions, "now", lambda: times.wall_s)
    monkeypatch.setattr(py_functions, "thread_time", lambda: times.cpu_s)
    return times


def rows(state):
    py_functions.write_totals(state)
    names = [column.name for column in columns("py_functions")]
    return [dict(zip(names, row, strict=True)) for row in state.writer.rows("py_functions")]


def test_every_call_of_a_steps_function_is_timed(library, state, ticks):
    def weigh(seconds):
        ticks.wall_s += seconds
        ticks.cpu_s += seconds / 2
        return seconds

    token = internal_py_func(library.registry, weigh)
    for seconds in (3.0, 1.0):
        assert library.registry(token, None, [seconds]) == seconds
    (row,) = rows(state)
    assert (row["name"], row["loop"], row["calls"]) == ("weigh", 0, 2)
    assert (row["wall_s"], row["cpu_s"], row["longest_s"]) == (4.0, 2.0, 3.0)
    assert row["file"] == __file__
    assert row["call_file"] == __file__


def test_what_did_not_change_is_not_written_again(library, state):
    token = internal_py_func(library.registry, abs)
    library.registry(token, None, [1])
    assert len(rows(state)) == 1
    assert len(rows(state)) == 1
    library.registry(token, None, [1])
    assert [row["calls"] for row in rows(state)] == [1, 2]


def test_a_call_counts_in_the_loop_that_runs(library, state):
    token = internal_py_func(library.registry, abs)
    outer = Loop(1, "fit", None, 0.0, 0.0, 0, {})
    inner = Loop(2, "fit", None, 0.0, 0.0, 0, {}, is_over=True)
    state.loops = [outer, inner]
    library.registry(token, None, [1])
    assert [row["loop"] for row in rows(state)] == [1]


def test_a_call_inside_another_counts_as_its_own_too(library, state, ticks):
    def inner():
        ticks.wall_s += 1.0

    def outer():
        library.registry(first, None, [])
        ticks.wall_s += 2.0

    first = internal_py_func(library.registry, inner)
    second = internal_py_func(library.registry, outer)
    library.registry(second, None, [])
    assert {row["name"]: row["wall_s"] for row in rows(state)} == {"inner": 1.0, "outer": 3.0}


def test_the_gradient_of_a_function_counts_as_its_own(library, state):
    CURRENT["gradient"] = lambda: None
    token = internal_py_func(library.registry, EagerFunc(abs))
    _, gradient = _EagerPyFuncGrad(token.encode())
    library.registry(token, None, [1])
    library.registry(gradient, None, [])
    (row,) = rows(state)
    assert (row["name"], row["calls"]) == ("abs", 2)


def test_a_function_of_a_dataset_is_not_timed(library, state):
    code = compile(
        "def __init__(put): return put()", "/x/tensorflow/structured_function.py", "exec"
    )
    names = {}
    exec(code, names)
    token = names["__init__"](lambda: internal_py_func(library.registry, abs))
    library.registry(token, None, [1])
    assert rows(state) == []


def test_the_body_of_a_loop_over_a_dataset_is_a_step(library, state):
    outer, inner = {}, {}
    exec(compile("def __init__(f): return f()", "/x/structured_function.py", "exec"), outer)
    exec(compile("def scan_body(f): return f()", "/x/dataset_autograph.py", "exec"), inner)
    put = lambda: internal_py_func(library.registry, abs)  # noqa: E731
    token = outer["__init__"](lambda: inner["scan_body"](put))
    library.registry(token, None, [1])
    assert [row["calls"] for row in rows(state)] == [1]


def test_what_runs_eagerly_is_not_in_a_graph(library, state):
    library.is_eager = True
    library.registry(internal_py_func(library.registry, abs), None, [1])
    assert rows(state) == []


def test_an_error_of_the_function_has_no_frame_of_ours(library, state):
    def fail():
        raise ValueError("mine")

    token = internal_py_func(library.registry, fail)
    with pytest.raises(ValueError, match="mine") as caught:
        library.registry(token, None, [])
    files = {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}
    assert files == {__file__}
    assert [row["calls"] for row in rows(state)] == [1]


def test_our_own_error_turns_the_probe_off_and_nothing_else(library, state, monkeypatch):
    token = internal_py_func(library.registry, abs)
    monkeypatch.setattr(py_functions, "now", lambda: 1 / 0)
    assert library.registry(token, None, [-1]) == 1
    assert state.probes["py_functions"].is_off
    assert library.registry(token, None, [-2]) == 2
    assert not py_functions._threads[threading.get_ident()].events


def test_more_threads_than_are_kept_turn_the_probe_off(library, state, monkeypatch):
    token = internal_py_func(library.registry, abs)
    monkeypatch.setattr(py_functions, "MAX_THREADS", 0)
    assert library.registry(token, None, [-1]) == 1
    assert "threads" in state.probes["py_functions"].detail


def test_more_functions_than_are_kept_turn_the_probe_off(library, state, monkeypatch):
    monkeypatch.setattr(py_functions, "MAX_TOKENS", 0)
    internal_py_func(library.registry, abs)
    assert "functions in graphs" in state.probes["py_functions"].detail


def test_while_paused_and_without_a_recording_nothing_is_timed(library, state, monkeypatch):
    token = internal_py_func(library.registry, abs)
    state.is_paused = True
    assert library.registry(token, None, [-1]) == 1
    monkeypatch.setattr(py_functions.Current, "state", None)
    assert library.registry(token, None, [-1]) == 1
    assert rows(state) == []


def test_calls_of_several_threads_add_up(library, state):
    token = internal_py_func(library.registry, abs)
    threads = [
        threading.Thread(target=lambda: [library.registry(token, None, [1]) for _ in range(200)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows(state)[-1]["calls"] == 800


def test_a_forked_child_starts_afresh(library, state):
    token = internal_py_func(library.registry, abs)
    library.registry(token, None, [1])
    py_functions.forget()
    assert rows(state) == []
    library.registry(token, None, [1])
    assert [row["calls"] for row in rows(state)] == [1]


def stack(*frames):
    """Return a stack with the registry's frame outside."""
    return (*frames, ("/tf/python/ops/script_ops.py", 9, "__call__"))


def test_a_stack_in_a_steps_function_is_told_apart(library):
    def weigh():
        pass

    assert not py_functions.is_in_step(stack((__file__, 3, "weigh")))
    internal_py_func(library.registry, weigh)
    inside = ((__file__, 3, "weigh"), ("/tf/autograph/impl/api.py", 5, "wrapper"))
    assert py_functions.is_in_step(stack(("/np/core.py", 1, "sum"), *inside))
    converting = ("/tf/python/ops/script_ops.py", 7, "_convert")
    assert py_functions.is_in_step(stack())
    assert py_functions.is_in_step(stack(("/np/core.py", 1, "asarray"), converting))
    assert not py_functions.is_in_step(stack((__file__, 3, "weigh"), (__file__, 9, "batches")))
    assert not py_functions.is_in_step(((__file__, 3, "weigh"),))
    gradient = ("/tf/python/ops/script_ops.py", 7, "eagerly_executed_grad")
    assert py_functions.is_in_step(stack(("/tf/eager/backprop.py", 1, "gradient"), gradient))


def test_a_function_that_datasets_call_too_stays_input(library):
    def weigh():
        pass

    internal_py_func(library.registry, weigh)
    py_functions._input_entries.add((__file__, "weigh"))
    assert not py_functions.is_in_step(stack((__file__, 3, "weigh")))
