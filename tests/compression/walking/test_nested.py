"""Which nested models dissolve into the model around them, and which stay whole."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.graph import graph_of, rebuilt

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def inner(shape=(4,), dtype=None):
    import keras

    layers = [keras.Input(shape, dtype=dtype), keras.layers.Dense(3, name="inside")]
    return keras.Sequential(layers, name="inner")


def assert_copies_exactly(model):
    data = models.data_for(models.settled(model))
    copy = rebuilt(graph_of(model))
    for ours, theirs in zip(models.results(copy, data), models.results(model, data), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return copy


def test_models_within_models_dissolve_too():
    import keras

    x = keras.Input((4,), name="middle_in")
    middle = keras.Model(x, inner()(x), name="middle")
    x = keras.Input((4,))
    model = keras.Model(x, keras.layers.ReLU()(middle(x)))
    assert graph_of(model).calls[0].name == "inside"
    assert_copies_exactly(model)


def test_a_model_that_casts_its_input_stays_whole():
    import keras

    x = keras.Input((4,), dtype="int32")
    model = keras.Model(x, inner()(x))
    assert [call.name for call in graph_of(model).calls] == ["inner"]
    assert_copies_exactly(model)


def test_a_model_that_squeezes_its_input_stays_whole():
    import keras

    x = keras.Input((4, 1))
    model = keras.Model(x, inner()(x))
    assert [call.name for call in graph_of(model).calls] == ["inner"]
    copy = assert_copies_exactly(model)
    assert copy.get_layer("inner") is not model.get_layer("inner")


def test_half_precision_between_models_does_not_keep_them_whole():
    import keras

    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_float16")
    try:
        x = keras.Input((6,))
        model = keras.Model(x, inner()(keras.layers.Dense(4, name="before")(x)))
        layers = [call.layer.name for call in graph_of(model).calls]
        assert layers == ["before", "inside"]
        copy = assert_copies_exactly(model)
    finally:
        keras.config.set_dtype_policy(policy)
    assert copy.dtype_policy.name == "mixed_float16"


def test_a_model_that_picks_inputs_by_name_stays_whole():
    import keras

    a, b = keras.Input((2,), name="a"), keras.Input((2,), name="b")
    body = keras.Model([b, a], keras.layers.Subtract()([b, a]), name="inner")
    x, y = keras.Input((2,)), keras.Input((2,))
    model = keras.Model([x, y], body({"a": x, "b": y}))
    assert [call.name for call in graph_of(model).calls] == ["inner"]
    assert_copies_exactly(model)


@pytest.mark.filterwarnings("ignore:Layer 'encoder'")  # that it ends there, as it should
def test_a_model_that_is_handed_a_mask_stays_whole():
    import keras

    steps = keras.Input((5, 6))
    encoder = keras.Model(steps, keras.layers.LSTM(3)(steps), name="encoder")
    words = keras.Input((5,), dtype="int32")
    embedded = keras.layers.Embedding(20, 6, mask_zero=True)(words)
    model = keras.Model(words, encoder(embedded))
    assert "encoder" in [call.name for call in graph_of(model).calls]
    assert_copies_exactly(model)


def test_a_frozen_model_that_stays_whole_stays_frozen():
    import keras

    x = keras.Input((4, 1))
    model = keras.Model(x, inner()(x))
    model.get_layer("inner").trainable = False
    assert rebuilt(graph_of(model)).trainable_variables == []


def test_a_model_with_two_inputs_in_a_list_dissolves():
    import keras

    a, b = keras.Input((2,)), keras.Input((2,))
    body = keras.Model([a, b], keras.layers.Subtract(name="inside")([a, b]), name="inner")
    x, y = keras.Input((2,)), keras.Input((2,))
    model = keras.Model([x, y], keras.layers.ReLU()(body([y, x])))
    graph = graph_of(model)
    assert graph.calls[0].name == "inside"
    assert graph.calls[0].inputs == (1, 0)
    assert_copies_exactly(model)
