"""The order of refitting, and tensors found again in the smaller model."""

import pytest

from compression import models
from compression.pruning import nets
from quickfit.compression.graph import copied, graph_of
from quickfit.compression.pruning.choosing import groups_of, planned
from quickfit.compression.pruning.following import traced
from quickfit.compression.pruning.order import refit_order, same_tensors

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def order_of(model):
    trace = traced(graph_of(model))
    layers, looping = refit_order(planned(trace, groups_of(trace), 0.5, 1))
    return [calls[0].name for calls in layers], looping


def test_layers_are_refitted_after_those_that_their_inputs_come_through():
    names, looping = order_of(nets.residual())
    # What reads nothing but the model's input has nothing to be refitted to.
    assert set(names) == {"conv", "squeeze", "excite", "gate", "last", "head"}
    assert names.index("conv") < names.index("squeeze") < names.index("excite")
    assert names[-1] == "head"
    assert not looping


def test_a_shared_layer_comes_after_the_layers_of_all_its_calls():
    import keras

    layers = keras.layers
    inputs = keras.Input((6,))
    shared = layers.Dense(6, name="shared")
    early = shared(layers.Dense(6, name="a")(inputs))
    late = layers.Dense(6, name="c")(layers.Dense(6, name="b")(inputs))
    x = layers.Concatenate()([early, shared(late)])
    names, _ = order_of(keras.Model(inputs, layers.Dense(2, name="head")(x)))
    assert names == ["c", "shared", "head"]


def test_a_layer_that_reads_its_own_results_is_left_and_others_go_on():
    names, looping = order_of(nets.nested())
    assert sorted(looping) == ["back", "inside"]
    assert names == ["head"]


@pytest.mark.parametrize("net", [models.nested_twice, nets.nested, nets.shared, models.named])
def test_tensors_are_found_again(net):
    model = net()
    graph, other = graph_of(model), graph_of(copied(model))
    numbers = same_tensors(graph, other)
    assert [numbers[tensor] for tensor in graph.outputs] == list(other.outputs)
    for call in graph.calls:
        producer = other.producer(numbers[call.outputs[0]])
        assert producer.name == call.name
        assert producer.inputs == tuple(numbers[tensor] for tensor in call.inputs)
