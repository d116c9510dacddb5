"""A trace that is under way is read from the stack of the thread that traces."""

import sys
import threading
from types import ModuleType

import pytest

from quickfit.probes import tracing
from quickfit.probes.retracing import GRAPHS

# As TensorFlow has them: the function, its variable, and the name of its file.
FILE = "/x/site-packages/tensorflow/python/framework/func_graph.py"
SOURCE = """
def func_graph_from_py_func(name, python_func, func_graph):
    func_graph.name = name
    python_func()
"""


class FuncGraph:
    """A graph with so many operations."""

    def __init__(self, operations, began_s=None):
        self.operations = operations
        if began_s is not None:
            self._quickfit_began_s = began_s

    def num_operations(self):
        return self.operations


class WhileBodyFuncGraph(FuncGraph):
    """The graph of a loop's body."""


@pytest.fixture
def trace(state, monkeypatch, clock):
    """Return TensorFlow's function that traces."""
    module = ModuleType(GRAPHS)
    exec(compile(SOURCE, FILE, "exec"), vars(module))
    monkeypatch.setitem(sys.modules, GRAPHS, module)
    monkeypatch.setattr(tracing, "now", clock)
    return module.func_graph_from_py_func


def while_running(function, action):
    """Do something while a thread is inside a function, which it is given."""
    inside, over = threading.Event(), threading.Event()

    def wait():
        inside.set()
        over.wait()

    thread = threading.Thread(target=function, args=(wait,))
    thread.start()
    inside.wait()
    action()
    over.set()
    thread.join()


def test_the_function_its_line_and_its_operations_are_recorded(trace, state):
    def step(wait):
        trace("step", wait, FuncGraph(4000, began_s=90.0))

    while_running(step, lambda: tracing.write(state))
    (row,) = state.writer.rows("tracing")
    assert row[:3] == (100.0, "step", __file__)
    assert row[4:] == (90.0, 4000)
    # The line at which the thread is now: it waits in a function of this file.
    assert row[3] == while_running.__code__.co_firstlineno + 6
    assert state.writer.sources == [__file__]


def test_the_bodies_of_loops_belong_to_the_innermost_function(trace, state):
    def step(wait):
        def inner():
            trace("body", wait, WhileBodyFuncGraph(30))

        def function():
            trace("inner", inner, FuncGraph(5))

        trace("outer", function, FuncGraph(1000))

    while_running(step, lambda: tracing.write(state))
    (row,) = state.writer.rows("tracing")
    assert row[1] == "inner"
    assert row[4:] == (100.0, 35)


def test_nothing_is_recorded_while_nothing_is_traced(trace, state):
    while_running(lambda wait: wait(), lambda: tracing.write(state))
    assert state.writer.rows("tracing") == []


def test_nothing_is_read_of_a_tensorflow_that_is_not_as_it_was(trace, state):
    def other(name, python_func, graph):
        python_func()

    sys.modules[GRAPHS].func_graph_from_py_func = other
    while_running(lambda wait: trace("step", wait, FuncGraph(1)), lambda: tracing.write(state))
    assert state.writer.rows("tracing") == []
    (hook,) = state.hooks.values()
    assert (hook.probe, hook.state) == ("tracing", "missing")


def test_without_tensorflow_nothing_is_read(state, monkeypatch):
    monkeypatch.delitem(sys.modules, GRAPHS, raising=False)
    tracing.write(state)
    assert state.writer.rows("tracing") == []
    assert state.hooks == {}
