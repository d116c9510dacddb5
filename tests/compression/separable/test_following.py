"""The normalization behind a convolution."""

import numpy as np
import pytest

from compression.separable import convnets
from quickfit.compression.graph import graph_of
from quickfit.compression.separable.following import importance, norm_after

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def model_with(end, **settings):
    """Return a model of one convolution, and `end` behind it."""
    import keras

    inputs = keras.Input((8, 8, 8))
    conv = keras.layers.Conv2D(4, 3, name="conv", **settings)
    return keras.Model(inputs, end(keras.layers, conv(inputs)))


def found(model):
    return norm_after(graph_of(model), model.get_layer("conv"))


def test_it_is_found_directly_behind():
    model = model_with(lambda layers, x: layers.ReLU()(layers.BatchNormalization(name="norm")(x)))
    assert found(model) is model.get_layer("norm")


@pytest.mark.parametrize(
    ("end", "settings"),
    [
        pytest.param(lambda layers, x: layers.ReLU()(x), {}, id="another layer follows"),
        pytest.param(lambda layers, x: x, {}, id="the model ends there"),
        pytest.param(
            lambda layers, x: layers.BatchNormalization()(x),
            {"activation": "relu"},
            id="there is an activation between",
        ),
        pytest.param(
            lambda layers, x: layers.Add()([layers.BatchNormalization()(x), x]),
            {},
            id="someone else reads it too",
        ),
        pytest.param(
            lambda layers, x: [layers.BatchNormalization()(x), x], {}, id="it is an output too"
        ),
        pytest.param(
            lambda layers, x: layers.BatchNormalization(axis=1)(x), {}, id="it is of another axis"
        ),
        pytest.param(
            lambda layers, x: layers.LayerNormalization()(x), {}, id="it normalizes otherwise"
        ),
    ],
)
def test_there_is_none_where(end, settings):
    assert found(model_with(end, **settings)) is None


def test_there_is_none_where_it_is_shared():
    def twice(layers, x):
        norm = layers.BatchNormalization()
        return norm(norm(x))

    assert found(model_with(twice)) is None


def test_large_factors_make_a_channel_important():
    norm = convnets.chain().get_layer("norm")
    norm.gamma.assign([0.0, -4.0, *[1.0] * 14])
    norm.moving_variance.assign([1.0, 1.0, 100.0, *[1.0] * 13])
    weights = importance(norm)
    assert weights[1] == pytest.approx(4 * weights[3])
    assert weights[2] == pytest.approx(weights[3] / 10, rel=1e-2)
    assert 0 < weights[0] < weights[2]


def test_without_scale_or_without_norm_all_count_alike():
    import keras

    norm = keras.layers.BatchNormalization(scale=False)
    norm.build((None, 3))
    assert np.ptp(importance(norm)) == 0
    assert importance(None) == 1.0


def test_a_norm_that_silences_everything_leaves_all_alike():
    norm = convnets.chain().get_layer("norm")
    norm.gamma.assign([0.0] * 16)
    assert set(importance(norm)) == {1.0}
