"""The order in which convolutions are refitted."""

import pytest

from compression.separable import convnets
from quickfit.compression.graph import graph_of
from quickfit.compression.separable.ordering import in_turn

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def test_each_comes_after_those_it_depends_on():
    turns, without = in_turn(graph_of(convnets.chain()), ["second", "stem", "first"])
    assert (turns, without) == (["stem", "first", "second"], [])


def test_shared_layers_have_a_place_where_their_inputs_are_ready():
    graph = graph_of(convnets.siamese())
    names = [call.name for call in graph.calls]
    turns, without = in_turn(graph, [name for name in names if name in {"first", "second"}])
    assert (turns, without) == (["first", "second"], [])


def test_a_layer_that_reads_its_own_results_has_no_turn():
    turns, without = in_turn(graph_of(convnets.recurrent()), ["again", "after"])
    assert (turns, without) == (["after"], ["again"])


def test_two_layers_that_wait_for_each_other_do_not_both_wait():
    import keras

    one, other = (keras.layers.Conv2D(8, 3, padding="same", name=name) for name in "ab")
    left, right = keras.Input((4, 4, 8)), keras.Input((4, 4, 8))
    model = keras.Model([left, right], [other(one(left)), one(other(right))])
    assert in_turn(graph_of(model), ["a", "b"]) == (["b"], ["a"])
