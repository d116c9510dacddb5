"""One moment of a pipeline: from TensorFlow's proto to JSON and back."""

import json
from types import SimpleNamespace

import pytest

from quickfit.errors import RecordingError
from quickfit.pipeline_model.snapshot import (
    MAX_GAPS,
    Node,
    nodes_to_json,
    recent_gaps,
    snapshot_from_row,
)


def parameter(name: str, value: float, state_value: float) -> SimpleNamespace:
    return SimpleNamespace(name=name, value=value, state_value=state_value)


def proto_node(name: str, *, inputs=(), parameters=(), node_class=3) -> SimpleNamespace:
    return SimpleNamespace(
        name=name,
        num_elements=10,
        processing_time=2_500_000_000,
        bytes_produced=800,
        bytes_consumed=400,
        parameters=list(parameters),
        buffered_elements=3,
        buffered_bytes=240,
        node_class=node_class,
        inputs=list(inputs),
    )


def proto(nodes, gaps=()) -> SimpleNamespace:
    return SimpleNamespace(nodes=nodes, output=1, gap_times=list(gaps))


def row(nodes: object, root: object = 1) -> dict[str, object]:
    return {"at_s": 5.0, "gaps": 2, "gap_s": 0.5, "root": root, "nodes": nodes}


def test_a_proto_comes_back_as_the_snapshot_it_was():
    parameters = [parameter("parallelism", 4.0, 2.0), parameter("buffer_size", 8.0, 8.0)]
    nodes = {
        1: proto_node("Prefetch", inputs=[2], parameters=parameters, node_class=4),
        2: proto_node("TensorSlice"),
    }
    snapshot = snapshot_from_row(row(json.loads(nodes_to_json(proto(nodes)))))
    assert (snapshot.at_s, snapshot.gaps, snapshot.gap_s, snapshot.root) == (5.0, 2, 0.5, 1)
    assert snapshot.nodes[1] == Node(1, "Prefetch", 10, 2.5, 800, 400, 2.0, 8.0, 3, 240, True, (2,))
    assert snapshot.nodes[2] == Node(
        2, "TensorSlice", 10, 2.5, 800, 400, None, None, 3, 240, False, ()
    )


@pytest.mark.parametrize(
    ("value", "state_value", "expected"),
    [
        pytest.param(1.0, 2.0, 2.0, id="what runs, not what the tuner would like"),
        pytest.param(2.0, 0.0, 2.0, id="a parameter without state"),
        pytest.param(float("inf"), 0.0, None, id="no limit"),
        pytest.param(float("nan"), 0.0, None, id="not a number"),
    ],
)
def test_the_parallelism_is_what_runs(value, state_value, expected):
    nodes = {1: proto_node("Map", parameters=[parameter("parallelism", value, state_value)])}
    ((*_, parallelism, _, _, _, _, _),) = json.loads(nodes_to_json(proto(nodes)))
    assert parallelism == expected


@pytest.mark.parametrize("node_class", range(7))
def test_even_classes_of_nodes_are_asynchronous(node_class):
    ((*_, is_async, _),) = json.loads(
        nodes_to_json(proto({1: proto_node("X", node_class=node_class)}))
    )
    assert is_async is (node_class in (2, 4, 6))


@pytest.mark.parametrize(
    ("gaps", "new_elements", "expected"),
    [
        pytest.param([], 5, (0, 0.0), id="no gap yet"),
        pytest.param([1e6, 2e6, 3e6], 2, (2, 5.0), id="the newest ones"),
        pytest.param([1e6, 2e6], 9, (2, 3.0), id="fewer gaps than elements"),
        pytest.param([1e6, 2e6], 0, (0, 0.0), id="nothing new"),
        pytest.param([1e6, 2e6], -3, (0, 0.0), id="the pipeline began again"),
        pytest.param([1e6] * 150, 120, (MAX_GAPS, 100.0), id="more than tf.data keeps"),
    ],
)
def test_gaps_belong_to_the_elements_since_the_last_look(gaps, new_elements, expected):
    assert recent_gaps(proto({}, gaps), new_elements) == expected


GOOD = [1, "Root", 1, 0.0, 0, 0, None, None, 0, 0, False, []]


@pytest.mark.parametrize(
    "mangled",
    [
        pytest.param(row(5), id="no list"),
        pytest.param(row([5]), id="no node"),
        pytest.param(row([[1, "Root"]]), id="a node cut short"),
        pytest.param(row([["a", *GOOD[1:]]]), id="no number"),
        pytest.param(row([[*GOOD[:11], None]]), id="no inputs"),
        pytest.param(row([GOOD], root=9), id="no root"),
        pytest.param(row([GOOD], root="x"), id="a root that is no number"),
        pytest.param({"at_s": 1.0}, id="no nodes"),
    ],
)
def test_a_mangled_row_says_what_to_do(mangled):
    with pytest.raises(RecordingError) as caught:
        snapshot_from_row(mangled)
    assert "a pipeline snapshot cannot be read" in str(caught.value)
    assert "Record the run again:\n    quickfit run YOUR_SCRIPT.py" in str(caught.value)
