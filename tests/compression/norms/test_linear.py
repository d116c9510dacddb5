"""Weighted sums times a factor."""

import numpy as np
import pytest

from quickfit.compression.norms.linear import has_channels_at, scaled

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("Conv2D", (3, 2)),
        ("Conv2DTranspose", (3, 2)),
        ("DepthwiseConv2D", (2,)),
        ("SeparableConv2D", (3, 2)),
        ("Dense", (3,)),
    ],
)
@pytest.mark.parametrize("use_bias", [True, False])
def test_the_output_is_scaled_by_channel_and_moved(kind, arguments, use_bias):
    import keras

    x = np.random.default_rng(0).normal(size=(2, 5, 5, 4)).astype("float32")
    layer = getattr(keras.layers, kind)(*arguments, use_bias=use_bias)
    before = np.asarray(layer(x))
    factor = np.linspace(0.5, 2.0, before.shape[-1])
    other = getattr(keras.layers, kind)(*arguments, use_bias=True)
    other.build(x.shape)
    other.set_weights(scaled(layer, factor, factor - 1))
    np.testing.assert_allclose(np.asarray(other(x)), before * factor + factor - 1, atol=1e-5)


def test_only_plain_sums_with_their_channels_there_will_do():
    import keras

    shape = (None, 5, 5, 4)
    conv = keras.layers.Conv2D(4, 3)
    assert has_channels_at(conv, 3, shape)
    assert not has_channels_at(conv, 1, shape)
    assert has_channels_at(keras.layers.Conv2D(4, 3, data_format="channels_first"), 1, shape)
    assert has_channels_at(keras.layers.Dense(4), 3, shape)
    assert not has_channels_at(keras.layers.LayerNormalization(), 3, shape)
