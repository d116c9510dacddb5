"""Batch normalization folded into the layer in front of it."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.norms.folding import folded

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def assert_same_results(result, model):
    data = models.data_for(model)
    pairs = zip(models.results(result.model, data), models.results(model, data), strict=True)
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * max(1, np.abs(theirs).max()))


@pytest.mark.parametrize(
    ("build", "count"),
    [
        (models.sequential, 1),
        (models.residual, 3),
        (models.nested_functional, 1),
        (models.mobile, 4),
    ],
)
def test_all_normalizations_that_follow_a_weighted_sum_are_gone(build, count):
    import keras

    model = build()
    result = folded(model)
    assert len(result.folded) == count
    assert result.kept == {}
    kinds = [type(layer) for layer in result.model.layers]
    assert keras.layers.BatchNormalization not in kinds
    assert_same_results(result, model)


def sequence(*layers, shape=(8, 8, 4)):
    import keras

    return models.settled(keras.Sequential([keras.Input(shape), *layers]))


def test_every_kind_of_convolution_takes_it_in():
    import keras

    kinds = keras.layers
    for layer, shape in [
        (kinds.Conv1D(4, 3), (8, 3)),
        (kinds.Conv3D(4, 2), (4, 4, 4, 2)),
        (kinds.Conv2D(4, 3, groups=2, strides=2), (8, 8, 4)),
        (kinds.Conv1DTranspose(4, 3), (8, 3)),
        (kinds.DepthwiseConv1D(3, depth_multiplier=2, use_bias=False), (8, 3)),
        (kinds.SeparableConv1D(4, 3, depth_multiplier=2), (8, 3)),
        (kinds.Dense(4, use_bias=False), (5, 3)),
    ]:
        model = sequence(layer, kinds.BatchNormalization(), shape=shape)
        result = folded(model)
        assert len(result.folded) == 1, layer
        assert_same_results(result, model)


def test_an_output_keeps_its_name():
    model = models.mobile()
    assert folded(model).model.output_names == model.output_names == ["last_norm"]


def test_flags_and_compile_settings_are_kept():
    model = models.residual()
    model.get_layer("conv_a").trainable = False
    model.compile("sgd", "mse")
    copy = folded(model).model
    assert not copy.get_layer("conv_a").trainable
    assert copy.get_layer("conv_b").trainable
    assert copy.compiled


def reason(model):
    result = folded(model)
    assert result.folded == ()
    assert_same_results(result, model)
    (text,) = result.kept.values()
    return text


def test_a_normalization_of_the_input_stays():
    import keras

    assert reason(sequence(keras.layers.BatchNormalization())) == "it reads an input of the model"


def test_an_activation_in_between_keeps_it():
    import keras

    layers = (
        keras.layers.Conv2D(4, 3, activation="relu", name="c"),
        keras.layers.BatchNormalization(),
    )
    assert reason(sequence(*layers)) == "'c' in front of it has an activation"


def test_another_layer_in_between_keeps_it():
    import keras

    layers = keras.layers.ReLU(name="act"), keras.layers.BatchNormalization()
    assert reason(sequence(*layers)) == "'act' in front of it (ReLU) cannot take it in"


def test_another_axis_keeps_it():
    import keras

    layers = keras.layers.Conv2D(4, 3, name="c"), keras.layers.BatchNormalization(axis=1)
    assert reason(sequence(*layers)) == "'c' in front of it (Conv2D) cannot take it in"


def test_a_result_that_others_use_too_keeps_it():
    import keras

    x = keras.Input((4,))
    y = keras.layers.Dense(3, name="dense")(x)
    z = keras.layers.BatchNormalization()(y)
    used = keras.Model(x, keras.layers.Add()([y, z]))
    assert reason(models.settled(used)) == "what 'dense' makes is used elsewhere too"
    given = keras.Model(x, [y, z])
    assert reason(models.settled(given)) == "what 'dense' makes is used elsewhere too"


def test_shared_layers_keep_it():
    import keras

    x = keras.Input((4,))
    dense, norm = keras.layers.Dense(4, name="dense"), keras.layers.BatchNormalization()
    model = keras.Model(x, norm(dense(dense(x))))
    assert reason(models.settled(model)) == "'dense' in front of it is shared"
    assert reason(models.nested_twice()) == "it is shared"


def test_a_normalization_that_always_trains_stays():
    import keras

    x = keras.Input((4,))
    y = keras.layers.BatchNormalization()(keras.layers.Dense(3)(x), training=True)
    (text,) = folded(keras.Model(x, y)).kept.values()
    assert text == "it was called with training=True"


def test_batch_renormalization_stays():
    import keras

    try:
        norm = keras.layers.BatchNormalization(renorm=True)
    except TypeError:
        pytest.skip("this release of Keras has no batch renormalization")
    (text,) = folded(sequence(keras.layers.Conv2D(4, 3), norm)).kept.values()
    assert text.startswith("batch renormalization")


def test_a_layer_with_its_own_call_or_few_bits_keeps_it():
    import keras

    class Odd(keras.layers.Dense):
        def call(self, x):
            return super().call(x) ** 2

    layers = Odd(3, name="odd"), keras.layers.BatchNormalization()
    assert "'odd' in front of it (Odd) cannot take it in" in reason(sequence(*layers, shape=(4,)))
    model = sequence(
        keras.layers.Dense(3, name="low"), keras.layers.BatchNormalization(), shape=(4,)
    )
    model.layers[0].enable_lora(1)
    assert "'low' in front of it (Dense) cannot take it in" in reason(model)
