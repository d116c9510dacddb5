"""Halves fitted to do what the convolutions did."""

import numpy as np
import pytest

from compression import models
from compression.separable import convnets
from quickfit.compression.calibration import samples_of
from quickfit.compression.graph import graph_of
from quickfit.compression.separable import refitting
from quickfit.compression.separable import refitting as module
from quickfit.compression.separable.refitting import (
    SeenWindows,
    TapSums,
    channel_importance,
    improve_filters,
    kernel_windows,
    norm_after,
    output_sizes,
    refit_halves,
    split_convolutions,
    split_kernel,
)
from quickfit.errors import ModelError


def refitted(model, ranks, data, ridge=1e-3):
    """Return a model in halves before and after they are fitted, and what is missed."""
    old = graph_of(model)
    split, _ = split_convolutions(old, ranks)
    new, halves = split_convolutions(old, ranks)
    missed = refit_halves(old, graph_of(new), halves, samples_of(old, data), ridge=ridge, seed=0)
    return split, new, missed


def distance(model, other, data):
    pairs = zip(models.results(model, data), models.results(other, data), strict=True)
    return max(float(np.linalg.norm(a - b) / np.linalg.norm(a - a.mean(0))) for a, b in pairs)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize(
    "settings",
    [
        {"activation": "relu"},
        {"use_bias": False},
        {"strides": 2, "padding": "same"},
        {"dilation_rate": 2, "padding": "same", "bias_constraint": "non_neg"},
    ],
    ids=str,
)
def test_a_fitted_convolution_comes_closer_on_other_images(settings):
    model = convnets.one(**settings)
    split, new, _ = refitted(model, {"conv": 1}, convnets.images(model))
    others = convnets.images(model, seed=9)
    assert distance(model, new, others) < 0.95 * distance(model, split, others)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_share_that_is_missed_is_that_of_the_variance():
    model = convnets.one(use_bias=False)
    data = convnets.images(model)
    _, new, missed = refitted(model, {"conv": 2}, data)
    pairs = models.results(model, data) + models.results(new, data)
    expected = np.linalg.norm(pairs[0] - pairs[1]) / np.linalg.norm(pairs[0])
    assert missed["conv"] == pytest.approx(expected**2, rel=1e-2)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_later_convolutions_make_good_what_earlier_ones_cannot():
    model = convnets.chain()
    data = convnets.images(model)
    split, new, missed = refitted(model, {"first": 1, "second": 1}, data)
    others = convnets.images(model, seed=9)
    assert distance(model, new, others) < 0.8 * distance(model, split, others)
    assert list(missed) == ["first", "second"]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_missing_bias_is_taken_over_by_the_normalization():
    model = convnets.chain()
    _, new, _ = refitted(model, {"first": 1}, convnets.images(model))
    old_mean, new_mean = (np.asarray(m.get_layer("norm").moving_mean) for m in (model, new))
    assert np.abs(old_mean - new_mean).max() > 0.01
    assert not new.get_layer("first_pointwise").use_bias


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_constrained_bias_is_kept():
    model = convnets.one(bias_constraint="non_neg")
    _, new, _ = refitted(model, {"conv": 1}, convnets.images(model))
    np.testing.assert_array_equal(new.get_layer("conv").bias, model.get_layer("conv").bias)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_shared_convolutions_are_fitted_on_all_they_read():
    model = convnets.siamese()
    split, new, _ = refitted(model, {"first": 2, "second": 2}, convnets.images(model))
    others = convnets.images(model, seed=9)
    assert distance(model, new, others) < 0.8 * distance(model, split, others)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_large_convolutions_keep_their_filters(monkeypatch):
    monkeypatch.setattr(refitting, "LARGEST", 10)
    model = convnets.one()
    split, new, _ = refitted(model, {"conv": 1}, convnets.images(model))
    others = convnets.images(model, seed=9)
    np.testing.assert_array_equal(
        new.get_layer("conv_depthwise").kernel, split.get_layer("conv_depthwise").kernel
    )
    assert distance(model, new, others) < 0.95 * distance(model, split, others)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_one_sample_is_enough_to_stay_finite():
    model = convnets.one(padding="same", strides=9)
    _, new, _ = refitted(model, {"conv": 1}, convnets.images(model, 1))
    assert np.isfinite(models.results(new, convnets.images(model, 4))[0]).all()


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_images_with_nan_are_told_with_the_convolution():
    model = convnets.one()
    data = convnets.images(model)
    data[3, 2, 2, 1] = np.nan
    with pytest.raises(ModelError, match=r"'conv' cannot be rewritten\. Weights cannot be fitted"):
        refitted(model, {"conv": 1}, data)


def halves_of(model, name="conv", rank=1):
    new, (halves,) = split_convolutions(graph_of(model), {name: rank})
    return new, halves


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize(
    "settings",
    [
        {"padding": "same", "activation": "relu"},
        {"strides": 2, "padding": "same", "use_bias": False},
        {"strides": 3, "activation": lambda x: x * x},
        {"dilation_rate": 2, "padding": "same"},
        {"dilation_rate": (1, 3), "kernel_size": (2, 3)},
        {"dtype": "float64"},
    ],
    ids=["same", "strides", "activation", "dilation", "oblong", "float64"],
)
def test_full_rank_does_the_same(settings):
    model = convnets.one(**settings)
    new, _ = halves_of(model, rank=9 if settings.get("kernel_size") is None else 6)
    assert convnets.apart(model, new, convnets.images(model, 4)) < 1e-5


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_everything_about_the_convolution_is_kept():
    model = convnets.chain(
        activation="elu", kernel_regularizer="l2", bias_regularizer="l1", bias_constraint="non_neg"
    )
    _, halves = halves_of(model, "second", rank=2)
    depthwise, pointwise = halves.depthwise, halves.pointwise
    assert (depthwise.name, pointwise.name) == ("second_depthwise", "second_pointwise")
    assert depthwise.kernel.shape == (3, 3, 16, 2)
    assert pointwise.kernel.shape == (1, 1, 32, 16)
    assert not depthwise.use_bias
    assert depthwise.activation.__name__ == "linear"
    assert pointwise.activation.__name__ == "elu"
    for name in ("kernel_regularizer", "bias_regularizer", "bias_constraint"):
        assert getattr(pointwise, name) is not None
    assert depthwise.depthwise_regularizer is not None
    np.testing.assert_array_equal(pointwise.bias, model.get_layer("second").bias)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "bfloat16", "float64"])
def test_the_dtype_policy_is_kept(policy):
    model = convnets.chain(dtype=policy)
    _, halves = halves_of(model, "second")
    kernel = model.get_layer("second").kernel
    for half in (halves.depthwise, halves.pointwise):
        assert half.dtype_policy.name == policy
        assert half.kernel.dtype == kernel.dtype


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("is_whole_model", [False, True])
def test_what_is_frozen_stays_frozen(is_whole_model):
    model = convnets.chain()
    (model if is_whole_model else model.get_layer("second")).trainable = False
    _, halves = halves_of(model, "second")
    assert not halves.depthwise.trainable
    assert not halves.pointwise.trainable


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_output_keeps_its_name():
    new, halves = halves_of(convnets.one())
    assert halves.pointwise.name == "conv"
    assert new.output_names == ["conv"]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_names_that_are_taken_are_not_taken_again():
    import keras

    x = inputs = keras.Input((8, 8, 8), name="conv_depthwise")
    x = keras.layers.Conv2D(8, 3, name="conv")(x)
    model = keras.Model(inputs, keras.layers.ReLU(name="conv_pointwise")(x))
    _, halves = halves_of(model)
    assert halves.depthwise.name == "conv_depthwise_1"
    assert halves.pointwise.name == "conv_pointwise_1"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_shared_convolution_stays_shared():
    model = convnets.siamese()
    new, halves = split_convolutions(graph_of(model), {"second": 8, "first": 9})
    assert [one.name for one in halves] == ["second", "first"]
    assert len([layer for layer in new.layers if "depthwise" in layer.name]) == 2
    assert convnets.apart(model, new, convnets.images(model, 4)) < 1e-5


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_kernel_with_nan_is_refused():
    model = convnets.one()
    kernel = np.asarray(model.get_layer("conv").kernel).copy()
    kernel[0, 0, 0, 0] = np.nan
    model.get_layer("conv").kernel.assign(kernel)
    with pytest.raises(ModelError, match=r"'conv' cannot be rewritten: its kernel holds values"):
        split_convolutions(graph_of(model), {"conv": 1})


TAPS, CHANNELS, OUTPUTS = 9, 5, 12


def seen(rows=600, seed=0):
    """Return what a 3×3 convolution sees: taps that say nearly the same, channels of some sizes."""
    draw = np.random.default_rng(seed)
    values = draw.normal(size=(rows, 1, CHANNELS)) + 0.4 * draw.normal(size=(rows, TAPS, CHANNELS))
    return values * [1.0, 0.2, 3.0, 1.0, 1.0] + 0.5


def kernel(seed=1):
    return np.random.default_rng(seed).normal(size=(3, 3, CHANNELS, OUTPUTS))


def made_by(whole, values):
    return np.einsum("nkc,kco->no", values, whole.reshape(TAPS, CHANNELS, -1))


def product(depthwise, pointwise):
    weights = pointwise.reshape(CHANNELS, depthwise.shape[3], -1)
    return np.einsum("hwcr,cro->hwco", depthwise, weights)


def error(whole, halves, values, *, centred=False):
    wrong = made_by(whole, values) - made_by(product(*halves), values)
    return float(np.linalg.norm(wrong - wrong.mean(axis=0) if centred else wrong))


def sums_of(whole, values, *, centred=False):
    sums = TapSums(centred=centred)
    for part in np.array_split(values, 3):
        sums.add(part, made_by(whole, part))
    return sums


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("centred", [False, True])
def test_the_error_on_other_samples_is_smaller(rank, centred):
    whole, start = kernel(), split_kernel(kernel(), rank)
    better = improve_filters(sums_of(whole, seen(), centred=centred), *start, 1e-3)
    others = seen(seed=5)
    assert error(whole, better, others, centred=centred) < 0.7 * error(
        whole, start, others, centred=centred
    )


def test_the_shapes_stay_and_filters_have_norm_one():
    start = split_kernel(kernel(), 2)
    depthwise, pointwise = improve_filters(sums_of(kernel(), seen()), *start, 1e-3)
    assert (depthwise.shape, pointwise.shape) == (start[0].shape, start[1].shape)
    np.testing.assert_allclose(np.linalg.norm(depthwise, axis=(0, 1)), 1.0)


def test_what_is_exact_stays():
    start = split_kernel(kernel(), 9)
    better = improve_filters(sums_of(kernel(), seen()), *start, 1e-3)
    np.testing.assert_allclose(product(*better), kernel(), atol=1e-8)


def test_a_channel_that_is_silent_keeps_its_filter():
    values = seen()
    values[:, :, 1] = 0.0
    start = split_kernel(kernel(), 1)
    depthwise, pointwise = improve_filters(sums_of(kernel(), values), *start, 1e-3)
    np.testing.assert_allclose(depthwise[:, :, 1], start[0][:, :, 1], atol=1e-12)
    assert np.isfinite(pointwise).all()


def test_inputs_of_zero_change_nothing():
    start = split_kernel(kernel(), 1)
    better = improve_filters(sums_of(kernel(), np.zeros((20, TAPS, CHANNELS))), *start, 1e-3)
    np.testing.assert_allclose(product(*better), product(*start), atol=1e-12)


def test_no_pull_is_possible_with_fewer_samples_than_weights():
    start = split_kernel(kernel(), 1)
    values = seen(rows=3)
    better = improve_filters(sums_of(kernel(), values), *start, 0.0)
    assert error(kernel(), better, values) < error(kernel(), start, values)


def test_values_that_are_not_finite_are_left_to_the_fit_of_the_weights():
    values = seen()
    values[4, 2, 1] = np.nan
    start = split_kernel(kernel(), 1)
    assert improve_filters(sums_of(kernel(), values), *start, 1e-3) == start


def sights_of(layer, ours, theirs, seed=0):
    sights = SeenWindows(layer, np.random.default_rng(seed))
    sights.add(np.split(ours, [2, 3]), np.split(theirs, [2, 3]))
    return sights


def collected(sights):
    seen, targets = zip(*sights.chunks(), strict=True)
    return np.concatenate(seen), np.concatenate(targets)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_targets_are_what_the_convolution_makes_without_bias_and_activation():
    model = convnets.one(activation="relu", padding="same")
    theirs, ours = convnets.images(model, 5), convnets.images(model, 5, seed=1)
    layer = model.get_layer("conv")
    seen, targets = collected(sights_of(layer, ours, theirs))
    made = np.asarray(model(theirs)).reshape(-1, 16)
    np.testing.assert_allclose(
        np.maximum(targets + np.asarray(layer.bias), 0), made, rtol=1e-4, atol=1e-4
    )
    np.testing.assert_array_equal(seen[:, 4], ours.reshape(-1, 8))  # the middle of the kernel


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_places_are_drawn_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr(module, "PLACES", 50)
    model = convnets.one(padding="same")
    data, layer = convnets.images(model, 5), model.get_layer("conv")
    seen, targets = collected(sights_of(layer, data, data))
    again, _ = collected(sights_of(layer, data, data))
    others, _ = collected(sights_of(layer, data, data, seed=1))
    kernel = np.asarray(layer.kernel).reshape(-1, 16)
    assert len(seen) == 50
    np.testing.assert_allclose(seen.reshape(50, -1) @ kernel, targets, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(seen, again)
    assert (seen != others).any()


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_small_chunks_hold_the_same(monkeypatch):
    model = convnets.one()
    data, layer = convnets.images(model, 5), model.get_layer("conv")
    whole = collected(sights_of(layer, data, data))
    monkeypatch.setattr(module, "CHUNK_BYTES", 1)
    sights = sights_of(layer, data, data)
    assert max(len(seen) for seen, _ in sights.chunks()) == 64
    for one, other in zip(collected(sights), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


GEOMETRIES = [
    {},
    {"padding": "same"},
    {"padding": "same", "strides": 2},
    {"padding": "same", "strides": 2, "kernel_size": 2},
    {"padding": "valid", "strides": 3},
    {"padding": "same", "strides": 4, "kernel_size": 3},
    {"padding": "same", "dilation_rate": 2},
    {"padding": "valid", "dilation_rate": (1, 2), "kernel_size": (4, 2)},
    {"padding": "same", "dilation_rate": (3, 1), "kernel_size": (2, 5)},
    {"padding": "same", "kernel_size": (1, 7)},
    {"padding": "same", "kernel_size": 12},
]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_windows_times_the_kernel_are_what_the_convolution_makes(geometry):
    model = convnets.one(use_bias=False, **geometry)
    layer, values = model.get_layer("conv"), convnets.images(model, 3)
    made = np.asarray(model(values))
    places = np.arange(made[..., 0].size)[::2]
    seen = kernel_windows(layer, values, places)
    kernel = np.asarray(layer.kernel).reshape(-1, 16)
    ours = seen.reshape(len(places), -1) @ kernel
    np.testing.assert_allclose(ours, made.reshape(-1, 16)[places], atol=1e-4)
    assert output_sizes(layer, values.shape) == made.shape[1:3]


def product_splitting(depthwise, pointwise):
    weights = pointwise.reshape(*depthwise.shape[2:], -1)
    return np.einsum("hwcr,cro->hwco", depthwise, weights)


def kernel_splitting(*shape):
    return np.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize("shape", [(3, 3, 4, 12), (1, 5, 3, 8), (2, 4, 2, 9), (3, 3, 2, 4)])
def test_full_rank_gives_the_kernel_itself(shape):
    whole = kernel_splitting(*shape)
    rank = min(shape[0] * shape[1], shape[3])
    np.testing.assert_allclose(product_splitting(*split_kernel(whole, rank)), whole, atol=1e-12)


def test_a_separable_kernel_needs_one_filter():
    whole = product_splitting(kernel_splitting(3, 3, 4, 1), kernel_splitting(4, 6))
    np.testing.assert_allclose(product_splitting(*split_kernel(whole, 1)), whole, atol=1e-12)


def test_more_filters_come_closer():
    whole = kernel_splitting(3, 3, 4, 12)
    errors = [
        np.linalg.norm(product_splitting(*split_kernel(whole, rank)) - whole)
        for rank in (1, 2, 3, 9)
    ]
    assert errors == sorted(errors, reverse=True)


def test_filters_have_norm_one():
    depthwise, _ = split_kernel(kernel_splitting(3, 3, 4, 12), 2)
    np.testing.assert_allclose(np.linalg.norm(depthwise, axis=(0, 1)), 1.0)


def test_a_kernel_of_zeros_stays_zero():
    assert not product_splitting(*split_kernel(np.zeros((3, 3, 2, 4)), 1)).any()


def model_with(end, **settings):
    """Return a model of one convolution, and `end` behind it."""
    import keras

    inputs = keras.Input((8, 8, 8))
    conv = keras.layers.Conv2D(4, 3, name="conv", **settings)
    return keras.Model(inputs, end(keras.layers, conv(inputs)))


def found(model):
    return norm_after(graph_of(model), model.get_layer("conv"))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_it_is_found_directly_behind():
    model = model_with(lambda layers, x: layers.ReLU()(layers.BatchNormalization(name="norm")(x)))
    assert found(model) is model.get_layer("norm")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_there_is_none_where_it_is_shared():
    def twice(layers, x):
        norm = layers.BatchNormalization()
        return norm(norm(x))

    assert found(model_with(twice)) is None


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_large_factors_make_a_channel_important():
    norm = convnets.chain().get_layer("norm")
    norm.gamma.assign([0.0, -4.0, *[1.0] * 14])
    norm.moving_variance.assign([1.0, 1.0, 100.0, *[1.0] * 13])
    weights = channel_importance(norm)
    assert weights[1] == pytest.approx(4 * weights[3])
    assert weights[2] == pytest.approx(weights[3] / 10, rel=1e-2)
    assert 0 < weights[0] < weights[2]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_without_scale_or_without_norm_all_count_alike():
    import keras

    norm = keras.layers.BatchNormalization(scale=False)
    norm.build((None, 3))
    assert np.ptp(channel_importance(norm)) == 0
    assert channel_importance(None) == 1.0


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_norm_that_silences_everything_leaves_all_alike():
    norm = convnets.chain().get_layer("norm")
    norm.gamma.assign([0.0] * 16)
    assert set(channel_importance(norm)) == {1.0}
