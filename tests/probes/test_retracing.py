"""Every trace is recorded with its time, its function, and the line that called it."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from quickfit.probes import retracing
from quickfit.probes._state import Loop
from quickfit.recording.schema import columns

NAMES = [column.name for column in columns("traces")]


class FuncGraph:
    """A graph of three operations."""

    def __init__(self, name):
        self.name = name
        self._nodes_by_name = {"x": 1, "w": 2, "y": 3}


@pytest.fixture
def tensorflow(state, monkeypatch, clock):
    """Return a TensorFlow that traces, hooked."""
    monkeypatch.setattr(retracing, "now", clock)
    graphs = ModuleType(retracing.GRAPHS)
    graphs.FuncGraph = type("FuncGraph", (FuncGraph,), {"__init__": FuncGraph.__init__})
    transform = ModuleType(retracing.CALLBACKS)
    transform.CONCRETE_FUNCTION_CALLBACKS = []
    eager = ModuleType(retracing.EAGER_RUN)
    eager.run_functions_eagerly = lambda run_eagerly: None
    for module in (graphs, transform, eager):
        retracing.patches()[module.__name__](module)

    def _create_concrete_function(function_type, tracing_options, takes_s):
        graph = graphs.FuncGraph(tracing_options.name)
        clock.now_s += takes_s
        tracing_options.python_function()
        for callback in transform.CONCRETE_FUNCTION_CALLBACKS:
            callback(SimpleNamespace(graph=graph))

    def trace(function, *, signature=("x: Tensor",), takes_s=2.0, cache="cache"):
        options = SimpleNamespace(
            name=function.__name__, python_function=function, function_cache=cache
        )
        parameters = SimpleNamespace(parameters=dict(enumerate(signature)))
        _create_concrete_function(parameters, options, takes_s)

    return SimpleNamespace(trace=trace, graphs=graphs, eager=eager)


def traces(state):
    return [dict(zip(NAMES, row, strict=True)) for row in state.writer.rows("traces")]


def step():
    """A train step."""


def test_a_trace_has_its_time_its_function_and_its_caller(tensorflow, state):
    state.loop_of_thread[retracing_thread()] = Loop(3, "fit", None, 0.0, 0.0, 0, {})
    tensorflow.trace(step)
    (trace,) = traces(state)
    assert (trace["name"], trace["duration_s"], trace["ops"]) == ("step", 2.0, 3)
    assert (trace["file"], trace["line"]) == (__file__, step.__code__.co_firstlineno)
    assert trace["caller_file"] == __file__
    assert (trace["signature"], trace["nested"], trace["loop"]) == ("x: Tensor", 0, 3)


def retracing_thread():
    import threading

    return threading.get_ident()


def test_a_trace_inside_a_trace_is_nested(tensorflow, state):
    def outer():
        tensorflow.trace(step)

    tensorflow.trace(outer)
    assert [(trace["name"], trace["nested"]) for trace in traces(state)] == [
        ("step", 1),
        ("outer", 0),
    ]


def test_traces_of_one_function_share_a_number(tensorflow, state):
    first, second = object(), object()
    for cache in (first, first, second):
        tensorflow.trace(step, cache=cache)
    numbers = [trace["function"] for trace in traces(state)]
    assert numbers[0] == numbers[1] != numbers[2]
    assert max(numbers) < 2**31


def test_a_long_signature_is_cut(tensorflow, state):
    tensorflow.trace(step, signature=["x" * 1000] * 5)
    assert len(traces(state)[0]["signature"]) == retracing.MAX_SIGNATURE


def test_a_function_of_a_library_has_no_line(tensorflow, state):
    import textwrap

    def _create_concrete_function_of_library():
        tensorflow.trace(textwrap.TextWrapper)

    _create_concrete_function_of_library()
    assert traces(state)[0]["file"] is None


def test_a_function_is_found_behind_the_wrappers_of_tensorflow(tensorflow, state, monkeypatch):
    wrapper = lambda: None  # noqa: E731
    decorator = SimpleNamespace(unwrap=lambda function: ([], step))
    monkeypatch.setitem(sys.modules, "tensorflow.python.util.tf_decorator", decorator)
    tensorflow.trace(wrapper)
    assert traces(state)[0]["line"] == step.__code__.co_firstlineno


def test_a_concrete_function_made_in_another_way_is_left_out(tensorflow, state):
    retracing._traced(SimpleNamespace(graph=None))
    assert traces(state) == []
    assert not state.probes["retracing"].is_off


def test_where_functions_are_run_eagerly_is_kept(tensorflow, state):
    tensorflow.eager.run_functions_eagerly(True)
    line = sys._getframe().f_lineno - 1
    place = state.kept["run_functions_eagerly"]
    assert (place.file, place.line) == (__file__, line)


def test_nothing_happens_when_nothing_is_watched(tensorflow, state, monkeypatch):
    monkeypatch.setattr(retracing.Current, "state", None)
    tensorflow.trace(step)
    tensorflow.eager.run_functions_eagerly(True)
    assert traces(state) == []
