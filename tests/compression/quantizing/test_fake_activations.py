"""Activations rounded to few values."""

import numpy as np
import pytest

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def rounding(values, **options):
    """Return a layer that has seen some values."""
    from quickfit.compression.quantizing.fake_activations import FakeQuant

    layer = FakeQuant(**options)
    layer.is_watching = True
    layer(np.asarray(values, "float32"))
    layer.is_watching = False
    return layer


def test_what_is_in_the_range_has_as_many_values_as_there_are_integers():
    values = np.linspace(-1, 3, 5000, dtype="float32")
    for bits, count in ((8, 256), (4, 16), (2, 4)):
        rounded = np.asarray(rounding(values, bits=bits)(values))
        assert len(np.unique(rounded)) == count
        assert np.abs(rounded - values).max() < 4 / (count - 1)


def test_zero_stays_zero_and_is_always_in_the_range():
    values = np.linspace(2, 3, 50, dtype="float32")
    layer = rounding(values)
    assert float(layer.low.numpy()) == 0
    assert np.asarray(layer(np.zeros(3, "float32"))).tolist() == [0, 0, 0]


def test_watching_widens_the_range_and_training_moves_it():
    layer = rounding([-1.0, 1.0])
    layer.is_watching = True
    layer(np.array([-0.5, 4.0], "float32"))
    layer.is_watching = False
    assert (float(layer.low.numpy()), float(layer.high.numpy())) == (-1, 4)
    layer(np.array([-1.0, 2.0], "float32"), training=True)
    assert float(layer.high.numpy()) == pytest.approx(0.95 * 4 + 0.05 * 2)
    layer(np.array([-9.0, 9.0], "float32"), training=False)
    assert float(layer.low.numpy()) == pytest.approx(-1)


def test_a_fixed_range_stays():
    layer = rounding([-5.0, 5.0], fixed=(0.0, 255 / 256))
    layer(np.array([7.0], "float32"), training=True)
    assert float(layer.high.numpy()) == pytest.approx(255 / 256)


def test_gradients_pass_inside_of_the_range_and_stop_outside(tf):
    layer = rounding([-1.0, 1.0])
    values = tf.constant([-5.0, -0.5, 0.3, 5.0])
    with tf.GradientTape() as tape:
        tape.watch(values)
        total = tf.reduce_sum(layer(values))
    assert tape.gradient(total, values).numpy().tolist() == [0, 1, 1, 0]


def test_activations_of_zeros_alone_stay_zeros():
    layer = rounding(np.zeros(4))
    assert np.asarray(layer(np.zeros(4, "float32"))).tolist() == [0] * 4
