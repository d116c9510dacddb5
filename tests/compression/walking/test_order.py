"""The order of recorded calls."""

import pytest

from quickfit.compression.graph import graph_of, rebuilt
from quickfit.compression.walking.order import in_order
from quickfit.compression.walking.private import body_of

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def test_a_very_deep_model_is_walked_without_recursion():
    import sys

    import keras

    x = inputs = keras.Input((2,))
    layers = [keras.layers.Identity() for _ in range(400)]
    for layer in layers:
        x = layer(x)
    model = keras.Model(inputs, x)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(250)
    try:
        assert len(list(in_order(body_of(model)))) == 400
    finally:
        sys.setrecursionlimit(limit)


def test_an_input_that_nobody_uses_stays_an_input():
    import keras

    used, unused = keras.Input((2,), name="used"), keras.Input((3,), name="unused")
    model = keras.Model([used, unused], keras.layers.Dense(2)(used))
    copy = rebuilt(graph_of(model))
    assert [tensor.name for tensor in copy.inputs] == ["used", "unused"]


def test_an_output_may_be_an_input_or_come_twice():
    import keras

    x = keras.Input((2,))
    y = keras.layers.ReLU()(x)
    graph = graph_of(keras.Model(x, [y, x, y]))
    assert graph.outputs == (1, 0, 1)
    assert len(rebuilt(graph).outputs) == 3
