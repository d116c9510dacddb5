"""Which operations of a graph broadcast labels against predictions, and which are meant."""

from types import SimpleNamespace

import pytest

from graphs import PAIRS, Graph, Unknown
from quickfit.probes._label_uses import MAX_FUNCTIONS, first_broadcast, follow, followed


def test_a_list_of_labels_against_a_column_of_predictions_is_found(state):
    graph = Graph()
    graph.loss("Sub", PAIRS, graph.labels, graph.predictions)
    assert first_broadcast([graph.labels], state) == {
        "operation": "Sub",
        "labels": [None],
        "outputs": [None, 1],
        "result": [None, None],
        "file": "/project/train.py",
        "line": 9,
    }
    assert state.writer.sources == ["/project/train.py"]


@pytest.mark.parametrize("kind", ["Cast", "Log1p", "Neg", "StopGradient"])
def test_labels_that_were_changed_one_by_one_are_labels_still(state, kind):
    graph = Graph()
    changed = graph.op(kind, (None,), graph.labels)
    changed = graph.op("RealDiv", (None,), changed, graph.op("Const", ()))
    graph.loss("SquaredDifference", PAIRS, graph.predictions, changed)
    found = first_broadcast([graph.labels], state)
    assert found is not None
    assert found["operation"] == "SquaredDifference"


def test_a_whole_map_of_predictions_is_found(state):
    graph = Graph(labels=(32,), predictions=(32, 64, 64, 1))
    graph.loss("Sub", (32, 64, 64, 32), graph.labels, graph.predictions)
    found = first_broadcast([graph.labels], state)
    assert found is not None
    assert found["outputs"] == [32, 64, 64, 1]


def same_shape(graph):
    graph.loss("Sub", (None,), graph.labels, graph.op("Squeeze", (None,), graph.predictions))


def squeezed_by_keras(graph):
    labels = graph.op("ExpandDims", (None, 1), graph.labels)
    graph.loss("Sub", (None, 1), labels, graph.predictions)


def a_metric(graph):
    graph.loss("Sub", PAIRS, graph.labels, graph.predictions, is_trained=False)


def pairs_by_a_new_axis(graph):
    flat = graph.op("Squeeze", (None,), graph.predictions)
    graph.loss("Sub", PAIRS, graph.labels, graph.op("ExpandDims", (None, 1), flat))


def pairs_by_reshaping_a_list(graph):
    flat = graph.op("Squeeze", (None,), graph.predictions)
    graph.loss("Sub", PAIRS, graph.labels, graph.op("Reshape", (None, 1), flat))


def pairs_of_labels(graph):
    column = graph.op("Transpose", (None, 1), graph.labels)
    graph.loss("Mul", PAIRS, graph.labels, column)


def pairs_with_a_transpose(graph):
    column = graph.op("Reshape", (None, 1), graph.predictions)
    row = graph.op("Transpose", (1, None), column)
    graph.loss("Sub", PAIRS, graph.op("ExpandDims", (None, 1), graph.labels), row)


def against_other_data(graph):
    graph.loss("Sub", PAIRS, graph.labels, graph.given("z", (None, 1)))


def another_size(graph):
    outputs = graph.op("MatMul", (7, 1), graph.predictions)
    labels = graph.given("few", (32,))
    graph.inputs[1] = labels
    graph.loss("Sub", (7, 32), labels, outputs)


def stretched(graph):
    wide = graph.op("MatMul", (None, 10), graph.predictions)
    graph.loss("Sub", (None, 10), graph.labels, wide)


def without_a_known_rank(graph):
    graph.loss("Sub", Unknown, graph.labels, graph.op("Odd", Unknown, graph.predictions))


@pytest.mark.parametrize(
    "write",
    [
        same_shape,
        squeezed_by_keras,
        a_metric,
        pairs_by_a_new_axis,
        pairs_by_reshaping_a_list,
        pairs_of_labels,
        pairs_with_a_transpose,
        against_other_data,
        another_size,
        stretched,
        without_a_known_rank,
    ],
)
def test_nothing_is_said_of(state, write):
    graph = Graph()
    write(graph)
    assert first_broadcast(graph.inputs[:2], state) is None


def traced(graph):
    return SimpleNamespace(graph=graph, captured_inputs=[graph.weights])


def test_of_a_function_of_the_script_every_argument_is_followed(state):
    assert followed(state) == {}
    graph = Graph()
    graph.loss("Sub", PAIRS, graph.labels, graph.predictions)
    follow(traced(graph), state)
    told = followed(state)
    assert told["labels_followed"] is True
    assert told["labels_broadcast"]["labels"] == [None]


def test_a_function_without_a_gradient_tells_nothing(state):
    graph = Graph()
    a_metric(graph)
    follow(traced(graph), state)
    assert followed(state) == {}


def test_an_odd_graph_and_too_many_graphs_are_left_alone(state):
    follow(SimpleNamespace(), state)
    assert followed(state) == {}
    graph = Graph()
    graph.loss("Sub", PAIRS, graph.labels, graph.predictions)
    for _ in range(MAX_FUNCTIONS):
        follow(SimpleNamespace(), state)
    follow(traced(graph), state)
    assert followed(state) == {}
