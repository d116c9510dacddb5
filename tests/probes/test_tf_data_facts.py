"""What a dataset operation is given: numbers, functions, and what these do."""

import functools
from types import SimpleNamespace

import pytest

from quickfit.probes.tf_data_facts import facts_of, function_wrapper, source_of


class Op:
    """An operation of a graph."""

    def __init__(self, kind, *inputs, is_stateful=False):
        self.type = kind
        self.inputs = [SimpleNamespace(op=op) for op in inputs]
        self.op_def = SimpleNamespace(is_stateful=is_stateful)


def wrapped(function, *, ops=(), inputs=(), outputs=()):
    """Return what tf.data makes of a function."""
    graph = SimpleNamespace(
        get_operations=lambda: list(ops),
        inputs=[SimpleNamespace(op=op) for op in inputs],
        outputs=[SimpleNamespace(op=op) for op in outputs],
    )
    return SimpleNamespace(_func=function, function=SimpleNamespace(graph=graph))


class Graph:
    """Not a function's."""


class FuncGraph:
    """One that is being traced."""


def dataset(graph=None, **parts):
    return SimpleNamespace(_graph_attr=graph or Graph(), **parts)


def facts(state, **parts):
    return facts_of(dataset(**parts), state, None)


def test_numbers_are_read_from_what_they_are_kept_in(state):
    found = facts(state, _buffer_size=SimpleNamespace(numpy=lambda: 7), _count=-1, _batch_size=None)
    assert found == {"buffer_size": 7, "count": -1}


def test_a_number_that_nobody_can_tell_yet_is_left_out(state):
    assert facts(state, _batch_size=object(), _num_shards=True) == {}


def scale(x):
    return x


class Layer:
    """As one of Keras: its `__call__` is not the user's, its `call` is."""

    __call__ = functools.partial

    def call(self, x):
        return x


class Scale:
    def __call__(self, x):
        return x


def twice(x):
    return x


def line_of(function):
    return function.__code__.co_firstlineno


@pytest.mark.parametrize(
    ("function", "name", "line"),
    [
        (scale, "scale", line_of(scale)),
        (functools.partial(functools.partial(twice), 1), "twice", line_of(twice)),
        (Scale(), "Scale", line_of(Scale.__call__)),
        (Layer().call, "call", line_of(Layer.call)),
        (Layer(), "Layer", line_of(Layer.call)),
        (len, "len", None),
        (functools.reduce, "reduce", None),
    ],
)
def test_a_function_has_its_name_and_the_line_where_the_user_wrote_it(state, function, name, line):
    found = facts(state, _map_func=wrapped(function))
    assert found["function"] == name
    assert found.get("function_line") == line
    assert ("function_file" in found) == (line is not None)
    assert state.writer.sources == ([__file__] if line else [])


def test_a_function_of_a_library_is_not_said_to_be_the_users(state):
    found = facts(state, _predicate=wrapped(functools.wraps))
    assert found["function"] == "wraps"
    assert "function_file" not in found


def test_the_generator_that_was_given_is_the_function(state):
    def from_generator():
        generator_state = SimpleNamespace(_generator=scale)

        def generator_next_fn():
            return generator_state

        return generator_next_fn

    found = facts(state, _next_func=wrapped(from_generator()))
    assert (found["function"], found["function_line"]) == ("scale", line_of(scale))


def test_what_a_function_does_is_read_from_its_graph(state):
    given = Op("Placeholder")
    python = Op("EagerPyFunc", given, is_stateful=True)
    wrapper = wrapped(scale, ops=[given, python], inputs=[given], outputs=[python])
    found = facts(state, _map_func=wrapper)
    assert (found["runs_python"], found["is_stateful"]) == (True, True)
    assert found["ops"] == ["EagerPyFunc", "Placeholder"]
    assert not found["is_identity"]


@pytest.mark.parametrize(("order", "is_identity"), [((0, 1), True), ((1, 0), False), ((0,), False)])
def test_a_function_that_hands_on_all_it_is_given_in_order_does_nothing(state, order, is_identity):
    given = [Op("Placeholder"), Op("Placeholder")]
    outputs = [Op("Identity", Op("Identity", given[number])) for number in order]
    wrapper = wrapped(scale, ops=[*given, *outputs], inputs=given, outputs=outputs)
    assert facts(state, _map_func=wrapper)["is_identity"] is is_identity


def test_a_function_that_was_never_traced_has_only_a_name(state):
    wrapper = SimpleNamespace(_func=len, function=None)
    assert facts(state, _map_func=wrapper) == {"function": "len"}


def test_something_else_under_the_name_of_a_function_is_none():
    assert function_wrapper(SimpleNamespace(_map_func=3)) is None


def test_a_dataset_of_a_traced_function_is_not_asked_for_its_length(state):
    def cardinality():
        raise AssertionError("this would add an operation to the user's graph")

    assert facts(state, graph=FuncGraph(), cardinality=cardinality) == {}
    value = SimpleNamespace(numpy=lambda: 5)
    assert facts(state, cardinality=lambda: value) == {"cardinality": 5}


def test_an_operation_that_is_its_own_source_is_found():
    given = Op("Placeholder")
    assert source_of(SimpleNamespace(op=given)) is given


def test_python_inside_a_condition_or_a_called_function_is_seen(state):
    inner = SimpleNamespace(get_operations=lambda: [Op("PyFunc", is_stateful=True)])
    wrapper = wrapped(scale, ops=[Op("If")])
    wrapper.function.graph._functions = {"branch": SimpleNamespace(graph=inner), "odd": object()}
    found = facts(state, _map_func=wrapper)
    assert found["runs_python"] is True
    assert found["is_stateful"] is True
    assert found["ops"] == ["If", "PyFunc"]


def test_python_that_quickfit_s_own_pipelines_call_is_not_held_against_them(state):
    from quickfit.data.sources.listing import is_hidden  # any function of that package

    python = Op("PyFunc")
    ours = dataset(_map_func=wrapped(functools.wraps(is_hidden)(lambda: None), ops=[python]))
    theirs = dataset(_map_func=wrapped(lambda x: x, ops=[python]))
    assert facts_of(ours, state, None)["runs_python"] is False
    assert facts_of(theirs, state, None)["runs_python"] is True
