"""Tests of what is known of models and layers."""

import pytest

from quickfit.tuning.precision.layers import (
    every_layer,
    graph_layers,
    is_functional,
    is_graph,
    is_sequential,
    named,
    own_behaviour,
)

pytestmark = pytest.mark.loads_tf


def test_the_kinds_of_models_are_told_apart(models):
    import keras

    functional, sequential = models.functional()[0], models.classifier()[0]
    assert is_functional(functional)
    assert not is_sequential(functional)
    assert is_sequential(sequential)
    assert not is_graph(models.OwnModel())
    assert not is_graph(keras.layers.Dense(1))


def test_graph_layers_enter_models_but_not_layers(models):
    found = [layer.name for layer in graph_layers(models.nested()[0])]
    assert {"softmax", "value"} <= set(found)
    assert "shared" not in found


def test_every_layer_enters_layers_too(models):
    kinds = {type(layer).__name__ for layer in every_layer(models.words()[0])}
    assert {"Bidirectional", "LSTM", "LSTMCell", "TimeDistributed", "Dense"} <= kinds
    assert not {"InputLayer", "Sequential"} & kinds


def test_own_behaviour_is_what_a_class_changes(models):
    import keras

    inputs = keras.Input((4,))
    assert own_behaviour(keras.Model(inputs, inputs * 2)) == []
    assert own_behaviour(models.classifier()[0]) == []
    assert own_behaviour(models.CountingModel(inputs, inputs * 2)) == ["train_step"]


def test_a_layer_is_named_with_its_class(models):
    import keras

    assert named(keras.layers.Dense(1, name="last")) == "'last' (Dense)"
