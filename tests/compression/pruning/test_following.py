"""Channels followed through layers: what is tied, what stays and why."""

import pytest

from compression.models import settled
from compression.pruning import nets
from quickfit.compression.graph import graph_of
from quickfit.compression.pruning.choosing import groups_of, planned
from quickfit.compression.pruning.following import traced

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def widths(model, ratio=0.5):
    """Return how many channels of each layer stay."""
    trace = traced(graph_of(model))
    plan = planned(trace, groups_of(trace), ratio, 1)
    calls = trace.calls_with(trace.made)
    return {call.name: len(plan.kept(trace.made[id(call.layer)])) for call in calls}


def places(model, name, ratio=0.5):
    """Return which channels of a layer stay."""
    trace = traced(graph_of(model))
    plan = planned(trace, groups_of(trace), ratio, 1)
    return plan.kept(trace.made[id(model.get_layer(name))]).tolist()


def reason(model, name):
    trace = traced(graph_of(model))
    channels = trace.made[id(model.get_layer(name))]
    return trace.atoms.reason(trace.atoms.root(int(channels.atoms[0])))


def test_a_concatenation_that_is_added_ties_both_branches_apart():
    model = nets.branches()
    kept = widths(model)
    assert kept == {"left": 2, "right": 4, "other": 6, "below": 6, "last": 3, "head": 3}
    other = places(model, "other")
    assert other == places(model, "below")
    assert other == places(model, "left") + [4 + place for place in places(model, "right")]


def test_additions_and_products_tie_and_a_gate_of_one_channel_does_not():
    model = nets.residual()
    kept = widths(model)
    assert kept == {
        "stem": 4,
        "conv": 4,
        "squeeze": 2,
        "excite": 4,
        "gate": 1,
        "last": 2,
        "head": 3,
    }
    assert places(model, "stem") == places(model, "conv") == places(model, "excite")
    assert "spreads it over all channels" in reason(model, "gate")


def test_channels_pass_depthwise_convolutions_slopes_and_reshapes():
    assert widths(nets.mobile())["first"] == 3
    assert widths(nets.flattened())["conv"] == 3
    assert widths(nets.words())["embedding"] == 4


def test_calls_of_a_shared_layer_read_the_same_channels():
    model = nets.shared()
    assert places(model, "left") == places(model, "right")
    assert widths(model)["shared"] == 4


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda layers, x: layers.Softmax()(x), "(Softmax), which needs all of its inputs"),
        (lambda layers, x: layers.Activation("softmax")(x), "looks at all channels at once"),
        (lambda layers, x: layers.Activation(lambda v: v[::-1])(x), "looks at all channels"),
        (lambda layers, x: layers.Lambda(lambda v: v)(x), "(Lambda), which needs all"),
        (lambda layers, x: layers.GroupNormalization(2)(x), "(GroupNormalization), which needs"),
        (
            lambda layers, x: layers.Reshape((4, 4, 2, 3))(x),
            "moves channels to more than one place",
        ),
        (lambda layers, x: layers.BatchNormalization(axis=1)(x), "along another axis"),
        (lambda layers, x: layers.Rescaling([1.0] * 6)(x), "by a number of its own"),
        (lambda layers, x: layers.Dot(axes=3)([x, x]), "(Dot), which needs all of its inputs"),
        (lambda layers, x: x[..., :3], "(GetItem), which"),
        (lambda layers, x: layers.Concatenate()([x, x[..., :2]]), "(GetItem), which"),
    ],
)
def test_layers_that_need_all_channels_keep_them(build, text):
    import keras

    inputs = keras.Input((4, 4, 3))
    x = keras.layers.Conv2D(6, 3, padding="same", name="conv")(inputs)
    x = keras.layers.Flatten()(build(keras.layers, x))
    model = keras.Model(inputs, keras.layers.Dense(2)(x))
    assert text in reason(model, "conv")


def test_a_class_that_only_looks_like_one_of_keras_is_not_trusted():
    import keras

    class Conv2D(keras.layers.Conv2D):
        def convolution_op(self, inputs, kernel):
            return super().convolution_op(
                inputs, kernel - keras.ops.mean(kernel, axis=-2)[..., None, :]
            )

    inputs = keras.Input((4, 4, 3))
    x = keras.layers.Conv2D(6, 3, name="before")(inputs)
    x = keras.layers.GlobalAveragePooling2D()(Conv2D(6, 1, name="own")(x))
    model = settled(keras.Model(inputs, keras.layers.Dense(2)(x)))
    assert "(Conv2D), which needs all of its inputs" in reason(model, "before")
    assert "own" in traced(graph_of(model)).unknown


def test_channels_may_come_first():
    import keras

    layers = keras.layers
    first = {"data_format": "channels_first"}
    inputs = keras.Input((3, 6, 6))
    x = layers.Conv2D(6, 3, padding="same", name="conv", **first)(inputs)
    x = layers.BatchNormalization(axis=1)(x)
    x = layers.Concatenate(axis=1)([x, layers.Conv2D(4, 1, name="other", **first)(inputs)])
    x = layers.MaxPooling2D(2, **first)(x)
    x = layers.Dense(4, name="dense")(layers.Flatten(**first)(x))
    model = keras.Model(inputs, layers.Dense(2)(x))
    kept = widths(model)
    assert (kept["conv"], kept["other"], kept["dense"]) == (3, 2, 2)
