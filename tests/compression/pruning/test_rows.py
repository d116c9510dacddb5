"""Rows of what a kernel looks at: times the kernel they are what the layer makes."""

import numpy as np
import pytest

from quickfit.compression.pruning.rows import matrix_of, picks, rows_of, set_matrix

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def layers():
    from keras import layers

    return [
        (layers.Dense(4), (5, 3)),
        (layers.Dense(4), (5, 6, 3)),
        (layers.Conv1D(4, 3), (5, 9, 3)),
        (layers.Conv1D(4, 3, padding="causal", dilation_rate=2), (5, 9, 3)),
        (layers.Conv1D(4, 3, padding="causal", strides=2), (5, 9, 3)),
        (layers.Conv2D(4, (3, 2), padding="same"), (5, 7, 6, 3)),
        (layers.Conv2D(4, 3, padding="same", strides=2), (5, 7, 6, 3)),
        (layers.Conv2D(4, 3, padding="same", strides=(3, 2)), (5, 8, 7, 3)),
        (layers.Conv2D(4, 1, padding="same", strides=2), (5, 7, 6, 3)),
        (layers.Conv2D(4, (2, 3), strides=2), (5, 7, 8, 3)),
        (layers.Conv2D(4, 3, padding="same", dilation_rate=(2, 1)), (5, 7, 6, 3)),
        (layers.Conv3D(4, 2, padding="same"), (2, 4, 5, 3, 3)),
        (layers.SeparableConv1D(4, 3, padding="same", depth_multiplier=2), (5, 9, 3)),
        (layers.SeparableConv2D(4, 3, padding="same", strides=2), (5, 7, 8, 3)),
        (layers.SeparableConv2D(4, 3, depth_multiplier=2), (5, 7, 8, 3)),
    ]


@pytest.mark.parametrize("number", range(15))
def test_rows_times_the_kernel_are_what_the_layer_makes(number):
    layer, shape = layers()[number]
    values = np.random.default_rng(0).normal(size=shape).astype("float32")
    expected = np.asarray(layer(values)).reshape(-1, 4)
    places = picks(layer, shape, len(expected), np.random.default_rng(0))
    made = rows_of(layer, values, places) @ matrix_of(layer)
    np.testing.assert_allclose(made, expected, atol=1e-5)


def test_some_places_are_drawn_where_there_are_many():
    from keras import layers

    layer = layers.Conv2D(4, 3, strides=2)
    values = np.random.default_rng(0).normal(size=(6, 9, 9, 3)).astype("float32")
    expected = np.asarray(layer(values)).reshape(-1, 4)
    places = picks(layer, values.shape, 10, np.random.default_rng(0))
    assert len(places) == len(set(places.tolist())) == 10
    made = rows_of(layer, values, places) @ matrix_of(layer)
    np.testing.assert_allclose(made, expected[places], atol=1e-5)


def test_channels_may_come_first():
    from keras import layers

    values = np.random.default_rng(0).normal(size=(5, 6, 7, 3)).astype("float32")
    first = layers.Conv2D(4, 3, padding="same", data_format="channels_first")
    last = layers.Conv2D(4, 3, padding="same", data_format="channels_last")
    first.build((None, 3, 6, 7))
    last.build((None, 6, 7, 3))
    shape = (5, 3, 6, 7)
    places = picks(first, shape, 100, np.random.default_rng(0))
    np.testing.assert_array_equal(places, picks(last, values.shape, 100, np.random.default_rng(0)))
    np.testing.assert_array_equal(
        rows_of(first, np.moveaxis(values, -1, 1), places), rows_of(last, values, places)
    )


def test_a_matrix_is_given_back_to_the_layer():
    from keras import layers

    layer = layers.Conv2D(4, (3, 2))
    layer.build((None, 5, 5, 3))
    matrix = np.random.default_rng(0).normal(size=(18, 4))
    set_matrix(layer, matrix, np.arange(4.0))
    np.testing.assert_allclose(matrix_of(layer), matrix, rtol=1e-6)
    np.testing.assert_array_equal(layer.bias, np.arange(4.0))
