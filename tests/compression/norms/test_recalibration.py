"""Statistics of batch normalization measured anew."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.calibration import activations, samples_of
from quickfit.compression.graph import copied, graph_of
from quickfit.compression.norms.folding import folded
from quickfit.compression.norms.recalibration import recalibrate, recalibrated

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


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
        seen = np.concatenate([b[tensor] for b in activations(graph, [tensor], samples)])
        np.testing.assert_allclose(call.layer.moving_mean, seen.mean(axis=(0, 1, 2)), atol=1e-5)
        np.testing.assert_allclose(call.layer.moving_variance, seen.var(axis=(0, 1, 2)), rtol=1e-4)
    for ours, theirs in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_like_itself_a_model_does_not_change():
    model = models.residual()
    copy = recalibrated(model, models.data_for(model, 30), like=model)
    for ours, theirs in zip(copy.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_like_the_original_makes_layers_as_large_and_centred_as_there():
    model = models.residual()
    data = models.data_for(model, 50)
    student = copied(model)
    conv = student.get_layer("conv_a")
    conv.set_weights([3.0 * w + 0.05 for w in conv.get_weights()])
    expected = statistics(model, "norm_a", data)
    recalibrate(student, data, like=model)
    for ours, theirs in zip(statistics(student, "norm_a", data), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


def statistics(model, name, data):
    graph = graph_of(model)
    tensor = graph.call_named(name).outputs[0]
    (batch,) = activations(graph, [tensor], samples_of(graph, data))
    return batch[tensor].mean(axis=(0, 1, 2)), batch[tensor].std(axis=(0, 1, 2))


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
    done = recalibrate(student, data, like=model, channels={"norm": places})
    assert done.changed == ("norm",)
    for ours, theirs in zip(student.get_weights(), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


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


def test_frozen_layers_keep_their_statistics_unless_there_is_an_original():
    model = models.residual()
    model.get_layer("norm_a").trainable = False
    data = models.data_for(model, 20)
    student = copied(model)
    done = recalibrate(student, data)
    assert done.changed == ("stem_norm", "norm_b")
    assert done.left == {"norm_a": "it is not trainable"}
    assert recalibrate(copied(model), data, like=model).left == {}


def test_a_shared_layer_gets_the_statistics_of_all_its_calls():
    import keras

    x, y = keras.Input((3,)), keras.Input((3,))
    norm = keras.layers.BatchNormalization()
    model = keras.Model([x, y], [norm(x), norm(y)])
    left, right = np.zeros((10, 3)), np.ones((10, 3))
    copy = recalibrated(model, [left, right])
    np.testing.assert_allclose(copy.layers[-1].moving_mean, 0.5)
    np.testing.assert_allclose(copy.layers[-1].moving_variance, 0.25)


def test_two_layers_may_read_the_same_tensor():
    import keras

    x = keras.Input((3,))
    first, second = (keras.layers.BatchNormalization()(x) for _ in range(2))
    model = keras.Model(x, keras.layers.Add()([first, second]))
    assert len(recalibrate(model, np.random.default_rng(0).normal(size=(9, 3))).changed) == 2


def test_a_mask_or_renormalization_leaves_a_layer_alone():
    import keras

    words = keras.Input((5,), dtype="int32")
    x = keras.layers.Embedding(20, 6, mask_zero=True)(words)
    model = keras.Model(words, keras.layers.BatchNormalization(name="norm")(x))
    done = recalibrate(model, np.ones((4, 5), "int32"))
    assert done.left == {"norm": "a mask says which values count"}


def test_normalization_inside_a_nested_model_that_stays_whole_is_listed():
    import keras

    inner = keras.Sequential([keras.Input((4,)), keras.layers.BatchNormalization()], name="inner")
    x = keras.Input((4, 1))
    model = keras.Model(x, inner(x))
    done = recalibrate(copied(model), np.ones((3, 4, 1)))
    assert done.left == {"inner": "its normalization is inside it, and it stays whole"}
    assert folded(model).kept == done.left


def test_a_model_without_normalization_is_fine():
    model = models.flattened()
    assert recalibrate(copied(model), models.data_for(model)).changed == ()
