"""Layers with rounded kernels."""

import numpy as np
import pytest

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]

SHAPES = {
    "Conv1D": ((6, 3), (5, 3)),
    "Conv2D": ((6, 6, 3), (5, 3)),
    "DepthwiseConv1D": ((6, 3), (3,)),
    "DepthwiseConv2D": ((6, 6, 3), (3,)),
    "Conv2DTranspose": ((4, 4, 3), (5, 3)),
    "Dense": ((3,), (5,)),
}


def both(name, **options):
    """Return a layer of Keras and the one with a rounded kernel, both with the same weights."""
    import keras

    from quickfit.compression.quantizing.fake_kernels import FAKES

    keras.utils.set_random_seed(0)
    shape, arguments = SHAPES[name]
    plain = getattr(keras.layers, name)(*arguments, activation="relu", bias_initializer="normal")
    fake = FAKES[type(plain)](*arguments, activation="relu", **options)
    x = np.random.default_rng(0).normal(size=(4, *shape)).astype("float32")
    plain(x), fake(x)
    fake.set_weights(plain.get_weights())
    return plain, fake, x


@pytest.mark.parametrize("name", SHAPES)
def test_with_eight_bits_a_layer_nearly_does_what_it_did(name):
    plain, fake, x = both(name)
    wanted = np.asarray(plain(x))
    assert 0 < np.abs(np.asarray(fake(x)) - wanted).max() < 0.03 * wanted.std() + 1e-6


@pytest.mark.parametrize("name", SHAPES)
def test_with_rounded_numbers_in_it_the_plain_layer_does_the_same(name):
    plain, fake, x = both(name, weight_bits=3)
    plain.kernel.assign(fake.rounded(fake.kernel))
    np.testing.assert_allclose(np.asarray(fake(x)), np.asarray(plain(x)), atol=1e-5)


def test_a_causal_convolution_sees_nothing_of_the_future():
    import keras

    from quickfit.compression.quantizing.fake_kernels import FakeConv1D

    options = {"padding": "causal", "dilation_rate": 2}
    plain, fake = keras.layers.Conv1D(4, 3, **options), FakeConv1D(4, 3, **options)
    x = np.random.default_rng(0).normal(size=(2, 9, 3)).astype("float32")
    plain(x), fake(x)
    fake.set_weights(plain.get_weights())
    plain.kernel.assign(fake.rounded(fake.kernel))
    np.testing.assert_allclose(np.asarray(fake(x)), np.asarray(plain(x)), atol=1e-5)


def test_every_output_channel_has_steps_of_its_own():
    _, fake, _ = both("Conv2D", weight_bits=2)
    channels = np.asarray(fake.rounded(fake.kernel)).reshape(-1, 5).T
    for channel, kernel in zip(channels, np.asarray(fake.kernel).reshape(-1, 5).T, strict=True):
        largest = np.abs(kernel).max()
        np.testing.assert_allclose(sorted({*np.abs(channel).round(6)}), [0, largest], atol=1e-5)


def test_a_depthwise_kernel_of_one_number_is_rounded_to_itself():
    import keras

    from quickfit.compression.quantizing.fake_kernels import FakeDepthwiseConv2D

    fake = FakeDepthwiseConv2D(1, weight_bits=2, depthwise_initializer="normal")
    fake(np.zeros((1, 2, 2, 7), "float32"))
    np.testing.assert_allclose(fake.rounded(fake.kernel), fake.kernel, rtol=1e-6)
    assert isinstance(fake, keras.layers.DepthwiseConv2D)


def test_gradients_pass_the_rounding(tf):
    _, fake, x = both("Dense", weight_bits=2)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(fake(x) ** 2)
    gradients = tape.gradient(total, fake.trainable_variables)
    assert all(float(tf.reduce_max(tf.abs(one))) > 0 for one in gradients)


def test_a_channel_of_zeros_stays_zeros():
    _, fake, _ = both("Dense")
    fake.kernel.assign(np.zeros(fake.kernel.shape))
    assert not np.asarray(fake.rounded(fake.kernel)).any()
