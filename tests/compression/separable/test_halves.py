"""Convolutions in two halves, by their weights alone."""

import numpy as np
import pytest

from compression.separable import convnets
from quickfit.compression.graph import graph_of
from quickfit.compression.separable.halves import halved
from quickfit.errors import ModelError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def halves_of(model, name="conv", rank=1):
    new, (halves,) = halved(graph_of(model), {name: rank})
    return new, halves


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


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "bfloat16", "float64"])
def test_the_dtype_policy_is_kept(policy):
    model = convnets.chain(dtype=policy)
    _, halves = halves_of(model, "second")
    kernel = model.get_layer("second").kernel
    for half in (halves.depthwise, halves.pointwise):
        assert half.dtype_policy.name == policy
        assert half.kernel.dtype == kernel.dtype


@pytest.mark.parametrize("is_whole_model", [False, True])
def test_what_is_frozen_stays_frozen(is_whole_model):
    model = convnets.chain()
    (model if is_whole_model else model.get_layer("second")).trainable = False
    _, halves = halves_of(model, "second")
    assert not halves.depthwise.trainable
    assert not halves.pointwise.trainable


def test_the_output_keeps_its_name():
    new, halves = halves_of(convnets.one())
    assert halves.pointwise.name == "conv"
    assert new.output_names == ["conv"]


def test_names_that_are_taken_are_not_taken_again():
    import keras

    x = inputs = keras.Input((8, 8, 8), name="conv_depthwise")
    x = keras.layers.Conv2D(8, 3, name="conv")(x)
    model = keras.Model(inputs, keras.layers.ReLU(name="conv_pointwise")(x))
    _, halves = halves_of(model)
    assert halves.depthwise.name == "conv_depthwise_1"
    assert halves.pointwise.name == "conv_pointwise_1"


def test_a_shared_convolution_stays_shared():
    model = convnets.siamese()
    new, halves = halved(graph_of(model), {"second": 8, "first": 9})
    assert [one.name for one in halves] == ["second", "first"]
    assert len([layer for layer in new.layers if "depthwise" in layer.name]) == 2
    assert convnets.apart(model, new, convnets.images(model, 4)) < 1e-5


def test_a_kernel_with_nan_is_refused():
    model = convnets.one()
    kernel = np.asarray(model.get_layer("conv").kernel).copy()
    kernel[0, 0, 0, 0] = np.nan
    model.get_layer("conv").kernel.assign(kernel)
    with pytest.raises(ModelError, match=r"'conv' cannot be rewritten: its kernel holds values"):
        halved(graph_of(model), {"conv": 1})
