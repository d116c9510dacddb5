"""Batch normalization folded into the layer in front of it."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.batch_norm import (
    folded,
    has_channels_at,
    moments_of,
    recalibrate_in_place,
    recalibrated,
    scaled_weights,
)
from quickfit.compression.calibration import iterate_activations, samples_of
from quickfit.compression.copying import copied
from quickfit.compression.graph import graph_of
from quickfit.errors import ModelError


def assert_same_results(result, model):
    data = models.data_for(model)
    pairs = zip(models.results(result.model, data), models.results(model, data), strict=True)
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * max(1, np.abs(theirs).max()))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_an_output_keeps_its_name():
    model = models.mobile()
    assert folded(model).model.output_names == model.output_names == ["last_norm"]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_normalization_of_the_input_stays():
    import keras

    assert reason(sequence(keras.layers.BatchNormalization())) == "it reads an input of the model"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_an_activation_in_between_keeps_it():
    import keras

    layers = (
        keras.layers.Conv2D(4, 3, activation="relu", name="c"),
        keras.layers.BatchNormalization(),
    )
    assert reason(sequence(*layers)) == "'c' in front of it has an activation"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_another_layer_in_between_keeps_it():
    import keras

    layers = keras.layers.ReLU(name="act"), keras.layers.BatchNormalization()
    assert reason(sequence(*layers)) == "'act' in front of it (ReLU) cannot take it in"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_another_axis_keeps_it():
    import keras

    layers = keras.layers.Conv2D(4, 3, name="c"), keras.layers.BatchNormalization(axis=1)
    assert reason(sequence(*layers)) == "'c' in front of it (Conv2D) cannot take it in"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_result_that_others_use_too_keeps_it():
    import keras

    x = keras.Input((4,))
    y = keras.layers.Dense(3, name="dense")(x)
    z = keras.layers.BatchNormalization()(y)
    used = keras.Model(x, keras.layers.Add()([y, z]))
    assert reason(models.settled(used)) == "what 'dense' makes is used elsewhere too"
    given = keras.Model(x, [y, z])
    assert reason(models.settled(given)) == "what 'dense' makes is used elsewhere too"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_shared_layers_keep_it():
    import keras

    x = keras.Input((4,))
    dense, norm = keras.layers.Dense(4, name="dense"), keras.layers.BatchNormalization()
    model = keras.Model(x, norm(dense(dense(x))))
    assert reason(models.settled(model)) == "'dense' in front of it is shared"
    assert reason(models.nested_twice()) == "it is shared"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_normalization_that_always_trains_stays():
    import keras

    x = keras.Input((4,))
    y = keras.layers.BatchNormalization()(keras.layers.Dense(3)(x), training=True)
    (text,) = folded(keras.Model(x, y)).kept.values()
    assert text == "it was called with training=True"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_batch_renormalization_stays():
    import keras

    try:
        norm = keras.layers.BatchNormalization(renorm=True)
    except TypeError:
        pytest.skip("this release of Keras has no batch renormalization")
    (text,) = folded(sequence(keras.layers.Conv2D(4, 3), norm)).kept.values()
    assert text.startswith("batch renormalization")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_statistics_are_exactly_those_of_the_data_with_the_layers_in_front_recalibrated():
    model = models.residual()
    before = model.get_weights()
    data = models.data_for(model, 100)
    copy = recalibrated(model, (data, np.zeros(100)))
    graph = graph_of(copy)
    samples = samples_of(graph, data)
    for name in ("stem_norm", "norm_a", "norm_b"):
        call = graph.call_named(name)
        tensor = call.inputs[0]
        seen = np.concatenate([b[tensor] for b in iterate_activations(graph, [tensor], samples)])
        np.testing.assert_allclose(call.layer.moving_mean, seen.mean(axis=(0, 1, 2)), atol=1e-5)
        np.testing.assert_allclose(call.layer.moving_variance, seen.var(axis=(0, 1, 2)), rtol=1e-4)
    for ours, theirs in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_like_itself_a_model_does_not_change():
    model = models.residual()
    copy = recalibrated(model, models.data_for(model, 30), like=model)
    for ours, theirs in zip(copy.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_like_the_original_makes_layers_as_large_and_centred_as_there():
    model = models.residual()
    data = models.data_for(model, 50)
    student = copied(model)
    conv = student.get_layer("conv_a")
    conv.set_weights([3.0 * w + 0.05 for w in conv.get_weights()])
    expected = statistics(model, "norm_a", data)
    recalibrate_in_place(student, data, like=model)
    for ours, theirs in zip(statistics(student, "norm_a", data), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


def statistics(model, name, data):
    graph = graph_of(model)
    tensor = graph.call_named(name).outputs[0]
    (batch,) = iterate_activations(graph, [tensor], samples_of(graph, data))
    return batch[tensor].mean(axis=(0, 1, 2)), batch[tensor].std(axis=(0, 1, 2))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_some_channels_of_the_original_are_found_by_their_places():
    import keras

    def model_with(units, places):
        model = keras.Sequential(
            [
                keras.Input((6,)),
                keras.layers.Dense(units),
                keras.layers.BatchNormalization(name="norm"),
            ]
        )
        draw = np.random.default_rng(0)
        weights = [draw.normal(size=(6, 5)), *(np.abs(draw.normal(size=5)) for _ in range(5))]
        model.set_weights([w[..., places] for w in weights])
        return model

    places = [3, 1]
    data = np.random.default_rng(1).normal(size=(40, 6))
    model, student = model_with(5, range(5)), model_with(2, places)
    expected = [w.copy() for w in student.get_weights()]
    done = recalibrate_in_place(student, data, like=model, channels={"norm": places})
    assert done.changed == ("norm",)
    for ours, theirs in zip(student.get_weights(), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_channel_that_is_constant_keeps_its_variance():
    model = models.residual()
    conv = model.get_layer("conv_a")
    (kernel,) = conv.get_weights()
    kernel[..., 2] = 0.0
    conv.set_weights([kernel])
    data = models.data_for(model, 20)
    copy = recalibrated(model, data, like=model)
    stored = np.asarray(model.get_layer("norm_a").moving_variance)[2]
    assert np.asarray(copy.get_layer("norm_a").moving_variance)[2] == pytest.approx(stored)
    plain = recalibrated(model, data)
    assert np.isfinite(plain(data)).all()


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_frozen_layers_keep_their_statistics_unless_there_is_an_original():
    model = models.residual()
    model.get_layer("norm_a").trainable = False
    data = models.data_for(model, 20)
    student = copied(model)
    done = recalibrate_in_place(student, data)
    assert done.changed == ("stem_norm", "norm_b")
    assert done.left == {"norm_a": "it is not trainable"}
    assert recalibrate_in_place(copied(model), data, like=model).left == {}


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_shared_layer_gets_the_statistics_of_all_its_calls():
    import keras

    x, y = keras.Input((3,)), keras.Input((3,))
    norm = keras.layers.BatchNormalization()
    model = keras.Model([x, y], [norm(x), norm(y)])
    left, right = np.zeros((10, 3)), np.ones((10, 3))
    copy = recalibrated(model, [left, right])
    np.testing.assert_allclose(copy.layers[-1].moving_mean, 0.5)
    np.testing.assert_allclose(copy.layers[-1].moving_variance, 0.25)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_two_layers_may_read_the_same_tensor():
    import keras

    x = keras.Input((3,))
    first, second = (keras.layers.BatchNormalization()(x) for _ in range(2))
    model = keras.Model(x, keras.layers.Add()([first, second]))
    assert (
        len(recalibrate_in_place(model, np.random.default_rng(0).normal(size=(9, 3))).changed) == 2
    )


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_mask_or_renormalization_leaves_a_layer_alone():
    import keras

    words = keras.Input((5,), dtype="int32")
    x = keras.layers.Embedding(20, 6, mask_zero=True)(words)
    model = keras.Model(words, keras.layers.BatchNormalization(name="norm")(x))
    done = recalibrate_in_place(model, np.ones((4, 5), "int32"))
    assert done.left == {"norm": "a mask says which values count"}


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_normalization_inside_a_nested_model_that_stays_whole_is_listed():
    import keras

    inner = keras.Sequential([keras.Input((4,)), keras.layers.BatchNormalization()], name="inner")
    x = keras.Input((4, 1))
    model = keras.Model(x, inner(x))
    done = recalibrate_in_place(copied(model), np.ones((3, 4, 1)))
    assert done.left == {"inner": "its normalization is inside it, and it stays whole"}
    assert folded(model).kept == done.left


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_without_normalization_is_fine():
    model = models.flattened()
    assert recalibrate_in_place(copied(model), models.data_for(model)).changed == ()


@pytest.mark.parametrize("axis", [-1, 1, 3])
def test_batches_of_any_size_give_the_moments_of_the_whole(axis):
    values = np.random.default_rng(0).normal(1e3, 2.0, size=(23, 5, 4, 5)).astype("float32")
    found = moments_of(np.split(values, [3, 4, 20]), axis, "norm")
    others = tuple(k for k in range(4) if k != axis % 4)
    exact = values.astype("float64")
    np.testing.assert_allclose(found.mean, exact.mean(axis=others), rtol=1e-12)
    np.testing.assert_allclose(found.variance, exact.var(axis=others), rtol=1e-9)


def test_some_channels_can_be_taken():
    found = moments_of([np.arange(12.0).reshape(4, 3)], -1, "norm")
    assert found.of_channels([2, 0]).mean.tolist() == [6.5, 4.5]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_told_with_the_layer(bad):
    with pytest.raises(ModelError, match=r"statistics of 'norm' cannot be measured.*not finite"):
        moments_of([np.array([[1.0, bad], [2.0, 3.0]])], -1, "norm")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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
    other.set_weights(scaled_weights(layer, factor, factor - 1))
    np.testing.assert_allclose(np.asarray(other(x)), before * factor + factor - 1, atol=1e-5)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_only_plain_sums_with_their_channels_there_will_do():
    import keras

    shape = (None, 5, 5, 4)
    conv = keras.layers.Conv2D(4, 3)
    assert has_channels_at(conv, 3, shape)
    assert not has_channels_at(conv, 1, shape)
    assert has_channels_at(keras.layers.Conv2D(4, 3, data_format="channels_first"), 1, shape)
    assert has_channels_at(keras.layers.Dense(4), 3, shape)
    assert not has_channels_at(keras.layers.LayerNormalization(), 3, shape)
