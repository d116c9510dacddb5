"""Which convolutions are rewritten, and what is said of the others."""

import math

import pytest

from compression.separable import convnets
from quickfit.compression.separable.obstacles import obstacle, rank_of, saved_share

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def conv(**settings):
    return convnets.one(**settings).get_layer("conv")


def built(name, *args, shape=(None, 8, 8, 8), **settings):
    import keras

    layer = getattr(keras.layers, name)(*args, **settings)
    layer.build(shape)
    return layer


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"strides": 2, "padding": "same"},
        {"dilation_rate": 2},
        {"kernel_size": (1, 3)},
        {"use_bias": False, "activation": "relu"},
        {"kernel_regularizer": "l2", "bias_constraint": "non_neg"},
    ],
    ids=str,
)
def test_nothing_is_in_the_way_of(settings):
    assert obstacle(conv(**settings), 1, 0.1) == ""


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"kernel_size": 1}, "it is 1×1: pointwise already"),
        ({"groups": 4}, "it works in 4 groups of channels"),
        ({"strides": (1, 2)}, "strides (1, 2) differ"),
        ({"kernel_constraint": "max_norm"}, "its kernel is constrained (MaxNorm)"),
        ({"filters": 2}, "with 1 filter per channel it would save only 39 % of its operations"),
        ({"filters": 1}, "with 1 filter per channel it would take more operations, not fewer"),
    ],
    ids=str,
)
def test_a_convolution_is_left_alone_because(settings, reason):
    assert reason in obstacle(conv(**settings), 1, 0.5)


@pytest.mark.parametrize(
    ("name", "args", "shape", "reason"),
    [
        ("Conv1D", (4, 3), (None, 8, 8), "it is a Conv1D, not a Conv2D"),
        ("Conv3D", (4, 3), (None, 8, 8, 8, 8), "it is a Conv3D, not a Conv2D"),
        ("Conv2DTranspose", (4, 3), (None, 8, 8, 8), "it is a Conv2DTranspose, not a Conv2D"),
        ("DepthwiseConv2D", (3,), (None, 8, 8, 8), "it is depthwise already"),
        ("SeparableConv2D", (4, 3), (None, 8, 8, 8), "it is separable already"),
    ],
)
def test_another_convolution_is_left_alone_because(name, args, shape, reason):
    assert obstacle(built(name, *args, shape=shape), 1, 0.1) == reason


def test_few_channels_are_left_alone():
    one, three = (built("Conv2D", 16, 3, shape=(None, 8, 8, count)) for count in (1, 3))
    assert obstacle(one, 1, 0.1) == "it reads only 1 channel"
    assert obstacle(three, 1, 0.1) == "it reads only 3 channels"


def test_channels_first_are_left_alone():
    layer = built("Conv2D", 16, 3, data_format="channels_first")
    assert "its channels come first" in obstacle(layer, 1, 0.1)


def test_lora_is_left_alone():
    layer = conv()
    layer.enable_lora(2)
    assert obstacle(layer, 1, 0.1) == "it has LoRA weights beside its kernel"


def test_a_class_of_the_users_is_left_alone():
    import keras

    class Scaled(keras.layers.Conv2D):
        def call(self, inputs):
            return 2.0 * super().call(inputs)

    layer = Scaled(16, 3)
    layer.build((None, 8, 8, 8))
    assert "Scaled is a class of its own" in obstacle(layer, 1, 0.1)


def test_convolutions_inside_a_layer_are_told():
    import keras

    layer = keras.layers.TimeDistributed(keras.layers.Conv2D(16, 3))
    layer.build((None, 4, 8, 8, 8))
    assert "inside it" in obstacle(layer, 1, 0.1)


def test_layers_without_convolutions_need_no_reason():
    import keras

    operation = keras.ops.relu(keras.Input((3,)))
    assert obstacle(built("Dense", 3), 1, 0.1) is None
    assert obstacle(operation._keras_history.operation, 1, 0.1) is None


def test_any_saving_will_do_where_that_is_asked_for():
    assert "more operations" in obstacle(conv(), 9, 0.1)
    assert obstacle(conv(), 9, -math.inf) == ""


def test_no_more_filters_than_the_kernel_has_taps_or_outputs():
    assert rank_of(conv(), 20) == 9
    assert rank_of(conv(kernel_size=(1, 3)), 20) == 3
    assert rank_of(conv(filters=5), 20) == 5


def test_the_saved_share_is_that_of_the_counted_operations():
    from quickfit.compression.flops import flops
    from quickfit.compression.graph import graph_of
    from quickfit.compression.separable.halves import halved

    model = convnets.one(use_bias=False)
    new, _ = halved(graph_of(model), {"conv": 2})
    share = 1 - flops(new).total / flops(model).total
    assert saved_share(model.get_layer("conv"), 2) == pytest.approx(share)
