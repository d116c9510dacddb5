"""Layers that stand in for others."""

import numpy as np
import pytest

from quickfit.compression.quantizing.standing_in import (
    fake_like,
    plain_like,
    separable_parts,
    take_separable,
    take_weights,
)

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def test_objects_of_the_users_go_over_and_back():
    import keras

    class Own(keras.regularizers.Regularizer):
        def __call__(self, x):
            return keras.ops.sum(x)

        def get_config(self):
            return {}

    regularizer = Own()
    layer = keras.layers.Conv2D(
        3, 3, strides=2, kernel_regularizer=regularizer, bias_constraint="non_neg", name="own"
    )
    x = np.ones((1, 6, 6, 2), "float32")
    layer(x)
    fake = fake_like(layer, weight_bits=8, activation=layer.activation, name="own")
    fake(x)
    plain = plain_like(fake)
    plain(x)
    take_weights(plain, fake)
    for one in (fake, plain):
        assert one.kernel_regularizer is regularizer
        assert isinstance(one.bias_constraint, keras.constraints.NonNeg)
        assert (one.strides, one.name) == ((2, 2), "own")
    assert type(plain) is keras.layers.Conv2D


@pytest.mark.parametrize("rank", ["1D", "2D"])
def test_a_separable_convolution_is_two(rank):
    import keras

    layer = getattr(keras.layers, f"SeparableConv{rank}")(
        4, 3, strides=2, padding="same", depth_multiplier=2, activation="relu", name="both"
    )
    x = np.random.default_rng(0).normal(size=(2, *[8] * int(rank[0]), 3)).astype("float32")
    wanted = np.asarray(layer(x))
    first, second = separable_parts(layer, weight_bits=8, activation=layer.activation, name="both")
    second(first(x))
    take_separable(layer, first, second)
    assert (first.name, second.name) == ("both_depthwise", "both")
    assert np.abs(np.asarray(second(first(x))) - wanted).max() < 0.03 * wanted.std()
