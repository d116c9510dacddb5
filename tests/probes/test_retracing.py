"""Every trace is recorded with its time, its function, and the line that called it."""

import functools
import gc
import json
import sys
from collections import OrderedDict
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

    def num_operations(self):
        return 3


class Literal:
    """A Python value."""

    def __init__(self, value):
        self.value = value


class Cache:
    """The traces of a function, which takes no weak reference."""

    __slots__ = ("_primary",)

    def __init__(self):
        self._primary = OrderedDict()


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
    eager.RUN_FUNCTIONS_EAGERLY = False
    for module in (graphs, transform, eager):
        retracing.patches()[module.__name__](module)

    def _create_concrete_function(function_type, tracing_options, takes_s):
        graph = graphs.FuncGraph(tracing_options.name)
        clock.now_s += takes_s
        tracing_options.python_function()
        for callback in transform.CONCRETE_FUNCTION_CALLBACKS:
            callback(SimpleNamespace(graph=graph))

    def trace(function, *, values=(1,), cache=None, **how):
        options = SimpleNamespace(
            name=getattr(function, "__name__", "function"),
            python_function=function,
            function_cache=cache,
            attributes=how.get("attributes"),
            reduce_retracing=how.get("reduce_retracing", False),
        )
        parameters = {
            f"x{place}": SimpleNamespace(name=f"x{place}", annotation=Literal(value))
            for place, value in enumerate(values)
        }
        _create_concrete_function(SimpleNamespace(parameters=parameters), options, 2.0)

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
    assert (trace["nested"], trace["loop"]) == (0, 3)
    assert trace["arguments"] == '{"args":[["x0","python","1"]]}'


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
    first, second = Cache(), Cache()
    for cache in (first, first, second):
        tensorflow.trace(step, cache=cache)
    assert [trace["function"] for trace in traces(state)] == [1, 1, 2]


def test_a_function_that_is_gone_leaves_its_number_unused(tensorflow, state):
    for _ in range(3):
        tensorflow.trace(step, cache=Cache())
        gc.collect()
    assert [trace["function"] for trace in traces(state)] == [1, 2, 3]


def test_a_trace_says_how_it_was_asked_for(tensorflow, state):
    tensorflow.trace(step, attributes={"_XlaMustCompile": True}, reduce_retracing=True)
    tensorflow.trace(step, attributes={"_XlaMustCompile": False}, values=range(70))
    first, second = (json.loads(trace["arguments"]) for trace in traces(state))
    assert first == {"args": [["x0", "python", "1"]], "jit": True, "relaxed": True}
    assert (len(second["args"]), second["more"]) == (64, 6)


def test_arguments_are_json_whatever_is_in_them(tensorflow, state):
    tensorflow.trace(step, values=['"]', "\\", "caf\u00e9\udce9"])
    told = json.loads(traces(state)[0]["arguments"])
    assert [value for _, _, value in told["args"]] == [repr('"]'), repr("\\"), "'caf\u00e9\\udce9'"]


def test_the_place_of_a_function_is_looked_for_once(tensorflow, state, monkeypatch):
    monkeypatch.setattr(retracing, "MAX_PLACES", 2)
    caches = [Cache() for _ in range(3)]
    for cache in caches * 2:
        tensorflow.trace(step, cache=cache)
    assert {trace["line"] for trace in traces(state)} == {step.__code__.co_firstlineno}
    assert len(state.kept["traced places"]) <= 2


def test_a_partial_has_the_place_of_its_function(tensorflow, state):
    tensorflow.trace(functools.partial(step))
    assert traces(state)[0]["line"] == step.__code__.co_firstlineno


REWRITTEN = "/nowhere/__autograph_generated_file_x.py"


@pytest.mark.parametrize(
    ("known", "line"), [((REWRITTEN, 3), 77), ((REWRITTEN, 4), None)], ids=["known", "unknown"]
)
def test_a_call_in_a_rewritten_function_is_at_the_line_it_was_written_as(known, line):
    names = {"caller": retracing.line_of, "frame": sys._getframe}
    exec(
        compile("def go():\n    global found\n    found = caller(frame())", REWRITTEN, "exec"),
        names,
    )
    library = "def converted_call(converted_f):\n    go()"
    exec(compile(library, "<frozen api>", "exec"), names)
    written = SimpleNamespace(filename=__file__, lineno=77)
    origin = SimpleNamespace(loc=written, function_name="outer")
    names["converted_call"](SimpleNamespace(ag_source_map={known: origin}))
    called = sys._getframe().f_lineno - 1
    assert (names["found"].file, names["found"].line) == (__file__, line or called)


def test_the_function_of_a_dataset_is_found_where_it_was_given():
    names = {"find": retracing._place_of_map, "frame": sys._getframe, "found": []}
    text = "def make(func, options):\n    found.append(find(trace(), options))"
    exec(compile(text, "/lib/structured_function.py", "exec"), names)
    exec(compile("def trace():\n    return frame()", "<frozen compilation>", "exec"), names)
    for attributes in ({"_tf_data_function": True}, None):
        names["make"](step, SimpleNamespace(attributes=attributes))
    given, other = names["found"]
    assert (given.file, given.line) == (__file__, step.__code__.co_firstlineno)
    assert other is None


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


def test_the_precision_of_products_is_recorded(tensorflow, state):
    double = SimpleNamespace(dtype=SimpleNamespace(name="float64"))
    made = [SimpleNamespace(type="MatMul", outputs=[double])]
    tensorflow.graphs.FuncGraph.get_operations = lambda self: made
    tensorflow.trace(lambda: None)
    (trace,) = traces(state)
    assert json.loads(trace["arguments"])["products"] == [1, 1]
