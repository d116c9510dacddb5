"""Channels followed through layers: what is tied, what stays and why."""

import numpy as np
import pytest

from compression.models import settled
from compression.pruning import nets
from quickfit.compression.graph import graph_of
from quickfit.compression.keras_internals import keras_class_name
from quickfit.compression.pruning.channel_removal import channel_groups, plan_removal
from quickfit.compression.pruning.channels import (
    ChannelAtoms,
    channel_axis,
    channel_obstacle,
    mixes_channels,
    trace_channels,
)


def widths(model, ratio=0.5):
    """Return how many channels of each layer stay."""
    trace = trace_channels(graph_of(model))
    plan = plan_removal(trace, channel_groups(trace), ratio, 1)
    calls = trace.calls_with(trace.made)
    return {call.name: len(plan.kept(trace.made[id(call.layer)])) for call in calls}


def places(model, name, ratio=0.5):
    """Return which channels of a layer stay."""
    trace = trace_channels(graph_of(model))
    plan = plan_removal(trace, channel_groups(trace), ratio, 1)
    return plan.kept(trace.made[id(model.get_layer(name))]).tolist()


def reason(model, name):
    trace = trace_channels(graph_of(model))
    channels = trace.made[id(model.get_layer(name))]
    return trace.atoms.reason(trace.atoms.root(int(channels.atoms[0])))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_concatenation_that_is_added_ties_both_branches_apart():
    model = nets.branches()
    kept = widths(model)
    assert kept == {"left": 2, "right": 4, "other": 6, "below": 6, "last": 3, "head": 3}
    other = places(model, "other")
    assert other == places(model, "below")
    assert other == places(model, "left") + [4 + place for place in places(model, "right")]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_channels_pass_depthwise_convolutions_slopes_and_reshapes():
    assert widths(nets.mobile())["first"] == 3
    assert widths(nets.flattened())["conv"] == 3
    assert widths(nets.words())["embedding"] == 4


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_calls_of_a_shared_layer_read_the_same_channels():
    model = nets.shared()
    assert places(model, "left") == places(model, "right")
    assert widths(model)["shared"] == 4


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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
    assert "own" in trace_channels(graph_of(model)).unknown


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


def test_tied_atoms_have_one_root_also_through_others():
    atoms = ChannelAtoms()
    a, b, c = atoms.new(3), atoms.new(3), atoms.new(3)
    atoms.tie(a, b)
    atoms.tie(c, b)
    np.testing.assert_array_equal(atoms.roots(a), atoms.roots(c))
    assert len(set(atoms.roots(a).tolist())) == 3


def test_what_is_tied_to_a_frozen_atom_is_frozen_for_the_same_reason():
    atoms = ChannelAtoms()
    a, b, c = atoms.new(2), atoms.new(2, "it is an output"), atoms.new(2)
    atoms.tie(a, b)
    atoms.tie(c, a)
    assert [atoms.reason(root) for root in atoms.roots(c).tolist()] == ["it is an output"] * 2


def test_the_first_reason_stays():
    atoms = ChannelAtoms()
    a, b = atoms.new(1, "first"), atoms.new(1, "second")
    atoms.tie(a, b)
    assert atoms.reason(atoms.root(int(b[0]))) == "first"
    assert not atoms.freeze(a, "third")
    assert atoms.reason(atoms.root(int(a[0]))) == "first"


def test_freezing_tells_whether_something_was_free():
    atoms = ChannelAtoms()
    a = atoms.new(2)
    assert atoms.freeze(a[:1], "why")
    assert atoms.freeze(a, "why")
    assert not atoms.freeze(a, "why")
    assert not atoms.freeze(atoms.new(0), "why")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_functions_of_the_user_are_not_taken_for_those_of_keras():
    import keras

    def relu(x):
        return x[..., ::-1]

    assert mixes_channels(relu)
    assert mixes_channels(keras.activations.softmax)
    assert mixes_channels(keras.activations.glu)
    assert mixes_channels(keras.layers.PReLU())  # it has weights of its own
    for harmless in (None, keras.activations.relu, keras.activations.get("swish")):
        assert not mixes_channels(harmless)
    assert not mixes_channels(keras.layers.LeakyReLU())


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_class_of_the_user_has_no_kind():
    import keras

    class Dense(keras.layers.Dense):
        pass

    assert keras_class_name(Dense(3)) == ""
    assert keras_class_name(keras.layers.Dense(3)) == "Dense"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_channels_are_counted_from_the_end():
    from keras import layers

    assert channel_axis(layers.Conv2D(3, 3, data_format="channels_first"), 4) == -3
    assert channel_axis(layers.Conv2D(3, 3, data_format="channels_last"), 4) == -1
    assert channel_axis(layers.ReLU(), 4) == -1


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.filterwarnings("ignore:__array__ implementation")  # inside Keras
def test_what_stands_in_the_way_is_said():
    from keras import layers

    dense = layers.Dense(8)
    dense.build((None, 8))
    assert channel_obstacle(dense) == ""
    dense.enable_lora(2)
    assert channel_obstacle(dense) == "has LoRA weights"
    quantized = layers.Dense(8)
    quantized.build((None, 8))
    quantized.quantize("int8")
    assert channel_obstacle(quantized) == "is quantized"
    assert channel_obstacle(layers.Conv2D(8, 3, groups=2)) == "is a convolution in groups"
    assert channel_obstacle(layers.Dropout(0.1, noise_shape=(None, 5))) == "has a noise_shape"
    assert channel_obstacle(layers.Dropout(0.1, noise_shape=(None, 1))) == ""
