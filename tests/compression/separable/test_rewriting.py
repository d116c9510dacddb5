"""Models with separable convolutions."""

import math

import numpy as np
import pytest

from compression import models
from compression.separable import convnets
from quickfit.compression.flops import flops
from quickfit.compression.graph import graph_of
from quickfit.compression.separable import refitting, rewritten
from quickfit.compression.separable.rewriting import (
    rank_of,
    refit_order,
    rewrite_obstacle,
    saved_share,
)
from quickfit.errors import ModelError, UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def compiled(model):
    model.compile("adam", "mse", metrics=["mae"])
    return model


@pytest.mark.parametrize(
    "build", [convnets.chain, convnets.siamese, convnets.nested, models.residual, models.sequential]
)
def test_as_many_filters_as_taps_do_the_same(build):
    model = build()
    data = convnets.images(model, 32)
    made = rewritten(model, data, depth_multiplier=9, saving=-math.inf)
    assert "rewritten" in made.notes[0]
    assert convnets.apart(model, made.model, data) < 1e-5


def test_the_model_is_not_changed():
    model = compiled(convnets.chain())
    model.get_layer("first").trainable = False
    before = convnets.state_of(model)
    made = rewritten(model, convnets.images(model))
    convnets.assert_same_state(before, model)
    assert not set(map(id, model.variables)).intersection(map(id, made.model.variables))


def test_it_is_smaller_and_named_and_told():
    model = convnets.chain()
    made = rewritten(model, convnets.images(model))
    names = [layer.name for layer in made.model.layers]
    assert names[1:4] == ["stem", "first_depthwise", "first_pointwise"]
    assert made.model.name == "chain"
    assert flops(made.model).total < 0.35 * flops(model).total
    assert made.notes[0] == (
        "2 convolutions rewritten ('first', 'second') with 1 filter per channel, refitted on 64 "
        "samples."
    )
    assert [(one.layer, one.reason) for one in made.skipped] == [
        ("stem", "it reads only 3 channels")
    ]


def test_the_same_seed_gives_the_same_model(monkeypatch):
    monkeypatch.setattr(refitting, "PLACES", 200)
    model = convnets.chain()
    data = convnets.images(model, 16)
    one, again, other = (rewritten(model, data, seed=seed).model for seed in (1, 1, 2))
    assert convnets.apart(one, again, data) == 0
    assert convnets.apart(one, other, data) > 0


def test_it_is_compiled_like_the_model():
    model, data = convnets.chain(), convnets.images(convnets.chain(), 8)
    assert not rewritten(model, data).model.compiled
    made = rewritten(compiled(model), data)
    assert made.model.compiled
    assert made.model.optimizer is not model.optimizer
    made.model.train_on_batch(data, np.zeros((8, 4)))


def test_normalizations_are_measured_anew():
    import keras

    model = convnets.chain()
    data = convnets.images(model)
    made = rewritten(model, data)
    spreads = []
    for one in (model, made.model):
        norm = one.get_layer("norm")
        spreads.append(np.asarray(keras.Model(one.input, norm.output)(data)).std(axis=(0, 1, 2)))
    np.testing.assert_allclose(spreads[0], spreads[1], rtol=1e-3)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_is_rewritten_too(policy):
    model = convnets.chain(dtype=policy)
    data = convnets.images(model, 32)
    made = rewritten(model, data, depth_multiplier=9, saving=-math.inf)
    assert convnets.apart(model, made.model, data) < 0.05


def test_a_model_without_convolutions_is_copied():
    model = models.named()
    made = rewritten(model, models.data_for(model))
    assert made.notes == ("No convolution was rewritten: this is a copy of the model.",)
    assert [one.reason for one in made.skipped] == ["it reads only 1 channel"]


def test_a_convolution_that_reads_its_own_results_is_left_alone():
    model = convnets.recurrent()
    made = rewritten(model, convnets.images(model))
    assert [(one.layer, one.reason) for one in made.skipped] == [
        (
            "again",
            "it is shared, and what it reads in one place depends on what it makes in another",
        )
    ]
    assert made.model.get_layer("after")


def test_few_samples_are_told():
    model = convnets.chain()
    made = rewritten(model, convnets.images(model, 1))
    assert made.notes[1] == (
        "1 sample is few to refit on: with 256 the model comes closer to the original."
    )


def test_a_poor_fit_is_told():
    model = convnets.one(padding="same")
    noise = np.random.default_rng(0).normal(size=(128, 9, 9, 8)).astype("float32")
    made = rewritten(model, noise)
    assert made.notes[1] == (
        "Less than 50 % of what the original makes is reproduced in 'conv': try a larger "
        "depth_multiplier, or a short fine-tuning."
    )


def test_many_names_are_cut_short():
    import keras

    x = inputs = keras.Input((6, 6, 8))
    for number in range(7):
        x = keras.layers.Conv2D(8, 3, padding="same", name=f"c{number}")(x)
    made = rewritten(keras.Model(inputs, x), np.ones((2, 6, 6, 8)))
    assert "7 convolutions rewritten ('c0', 'c1', 'c2', 'c3', 'c4' and 2 more)" in made.notes[0]


def test_normalizations_that_keep_their_statistics_are_told():
    import keras

    inner = convnets.chain()
    x = inputs = keras.Input((2, 10, 10, 3))
    x = keras.layers.TimeDistributed(inner, name="frames")(x)
    x = keras.layers.Reshape((2, 2, 2))(x)
    x = keras.layers.Conv2D(8, 1)(x)
    model = keras.Model(inputs, keras.layers.Conv2D(8, 2, name="conv")(x))
    made = rewritten(model, np.ones((2, 2, 10, 10, 3)))
    reasons = [one.reason for one in made.skipped if one.layer == "frames"]
    assert reasons == [
        "its convolutions are inside it, and it stays whole",
        "its statistics are the old ones: its normalization is inside it, and it stays whole",
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depth_multiplier": 0}, "depth_multiplier is 1 or more, and 0 came."),
        ({"depth_multiplier": 1.5}, "depth_multiplier is a whole number, and 1.5 came."),
        ({"depth_multiplier": True}, "depth_multiplier is a whole number, and True came."),
        ({"ridge": -1.0}, "ridge must be 0 or more, and -1.0 came."),
        ({"ridge": math.nan}, "ridge must be 0 or more, and nan came."),
        ({"saving": 1.5}, "saving is a share, at most 1, and 1.5 came."),
    ],
    ids=str,
)
def test_a_wrong_argument_is_refused(settings, message):
    with pytest.raises(UsageError) as told:
        rewritten(None, None, **settings)
    assert str(told.value) == message


def test_a_subclassed_model_is_refused():
    with pytest.raises(ModelError, match="network"):
        rewritten(models.subclassed(), np.zeros((2, 3)))


def test_data_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match="The calibration data do not fit the model"):
        rewritten(convnets.chain(), np.zeros((4, 7, 7, 3)))


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
    assert rewrite_obstacle(conv(**settings), 1, 0.1) == ""


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
    assert reason in rewrite_obstacle(conv(**settings), 1, 0.5)


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
    assert rewrite_obstacle(built(name, *args, shape=shape), 1, 0.1) == reason


def test_few_channels_are_left_alone():
    one, three = (built("Conv2D", 16, 3, shape=(None, 8, 8, count)) for count in (1, 3))
    assert rewrite_obstacle(one, 1, 0.1) == "it reads only 1 channel"
    assert rewrite_obstacle(three, 1, 0.1) == "it reads only 3 channels"


def test_channels_first_are_left_alone():
    layer = built("Conv2D", 16, 3, data_format="channels_first")
    assert "its channels come first" in rewrite_obstacle(layer, 1, 0.1)


def test_lora_is_left_alone():
    layer = conv()
    layer.enable_lora(2)
    assert rewrite_obstacle(layer, 1, 0.1) == "it has LoRA weights beside its kernel"


def test_a_class_of_the_users_is_left_alone():
    import keras

    class Scaled(keras.layers.Conv2D):
        def call(self, inputs):
            return 2.0 * super().call(inputs)

    layer = Scaled(16, 3)
    layer.build((None, 8, 8, 8))
    assert "Scaled is a class of its own" in rewrite_obstacle(layer, 1, 0.1)


def test_convolutions_inside_a_layer_are_told():
    import keras

    layer = keras.layers.TimeDistributed(keras.layers.Conv2D(16, 3))
    layer.build((None, 4, 8, 8, 8))
    assert "inside it" in rewrite_obstacle(layer, 1, 0.1)


def test_layers_without_convolutions_need_no_reason():
    import keras

    operation = keras.ops.relu(keras.Input((3,)))
    assert rewrite_obstacle(built("Dense", 3), 1, 0.1) is None
    assert rewrite_obstacle(operation._keras_history.operation, 1, 0.1) is None


def test_any_saving_will_do_where_that_is_asked_for():
    assert "more operations" in rewrite_obstacle(conv(), 9, 0.1)
    assert rewrite_obstacle(conv(), 9, -math.inf) == ""


def test_no_more_filters_than_the_kernel_has_taps_or_outputs():
    assert rank_of(conv(), 20) == 9
    assert rank_of(conv(kernel_size=(1, 3)), 20) == 3
    assert rank_of(conv(filters=5), 20) == 5


def test_the_saved_share_is_that_of_the_counted_operations():
    from quickfit.compression.flops import flops
    from quickfit.compression.graph import graph_of
    from quickfit.compression.separable.refitting import split_convolutions

    model = convnets.one(use_bias=False)
    new, _ = split_convolutions(graph_of(model), {"conv": 2})
    share = 1 - flops(new).total / flops(model).total
    assert saved_share(model.get_layer("conv"), 2) == pytest.approx(share)


def test_each_comes_after_those_it_depends_on():
    turns, without = refit_order(graph_of(convnets.chain()), ["second", "stem", "first"])
    assert (turns, without) == (["stem", "first", "second"], [])


def test_shared_layers_have_a_place_where_their_inputs_are_ready():
    graph = graph_of(convnets.siamese())
    names = [call.name for call in graph.calls]
    turns, without = refit_order(graph, [name for name in names if name in {"first", "second"}])
    assert (turns, without) == (["first", "second"], [])


def test_a_layer_that_reads_its_own_results_has_no_turn():
    turns, without = refit_order(graph_of(convnets.recurrent()), ["again", "after"])
    assert (turns, without) == (["after"], ["again"])


def test_two_layers_that_wait_for_each_other_do_not_both_wait():
    import keras

    one, other = (keras.layers.Conv2D(8, 3, padding="same", name=name) for name in "ab")
    left, right = keras.Input((4, 4, 8)), keras.Input((4, 4, 8))
    model = keras.Model([left, right], [other(one(left)), one(other(right))])
    assert refit_order(graph_of(model), ["a", "b"]) == (["b"], ["a"])
