"""Shapes worked out for other inputs than those that were recorded."""

import pytest

from compression import models
from quickfit.compression.graph import graph_of
from quickfit.compression.walking.shapes import specs_from

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def test_shapes_follow_the_inputs():
    import keras

    graph = graph_of(models.nested_functional())
    specs = specs_from(graph.calls, {0: keras.KerasTensor((2, 8, 8, 3))})
    assert tuple(specs[graph.call_named("act").outputs[0]].shape) == (2, 8, 8, 4)
    assert tuple(specs[graph.outputs[0]].shape) == (2, 5)


def test_arguments_that_keras_adds_do_not_disturb():
    import keras

    x = keras.Input((None, 3))
    inner = keras.Model(x, keras.layers.Add()([keras.layers.Dropout(0.5)(x), x]))
    x = keras.Input((4, 3))
    graph = graph_of(keras.Model(x, inner(x, training=True)))
    assert [call.kwargs["training"] for call in graph.calls] == [True, True]
    assert graph.shape_of(graph.outputs[0]) == (None, 4, 3)


def test_an_einsum_that_forgets_sizes_is_helped():
    import keras

    x = keras.Input((7, 12))
    y = keras.layers.EinsumDense("abc,cd->abd", (None, 4))(x)
    graph = graph_of(keras.Model(x, y))
    specs = specs_from(graph.calls, {0: keras.KerasTensor((2, 7, 12))})
    assert tuple(specs[1].shape) == (2, 7, 4)
