"""Training for int8."""

from types import SimpleNamespace

import numpy as np
import pytest

from compression import models
from compression.quantizing import nets
from quickfit.compression.batch_norm import folded
from quickfit.compression.copying import rebuild_graph
from quickfit.compression.graph import graph_of
from quickfit.compression.litert import PLUMBING
from quickfit.compression.quantizing import exported, fake_quantised, stripped
from quickfit.compression.quantizing.fake_quantization import (
    FakeQuantPlacer,
    LayerRole,
    fake_like,
    is_rectifier,
    layer_role,
    norms_as_convolutions,
    plain_like,
    separable_parts,
    take_separable,
    take_weights,
    why_unknown,
)
from quickfit.errors import ModelError, UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def spread(model, data):
    return models.results(model, data, training=False)[0].std()


@pytest.fixture(scope="module")
def trained(tf):
    """Return a model of many kinds of layers and what was trained for int8 from it."""
    import keras

    model = nets.branches()
    model.compile("adam", "sparse_categorical_crossentropy")
    data = models.data_for(model, 64)
    before = nets.state_of(model)
    made = fake_quantised(model, data)
    keras.utils.set_random_seed(3)
    made.model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy")
    made.model.fit(data, np.arange(64) % 3, batch_size=16, epochs=1, verbose=0)
    assert nets.state_of(model) == before
    assert (made.skipped, made.notes) == ((), ())
    return made.model, data


def test_the_file_is_in_int8_and_gives_what_keras_gives(trained, tmp_path):
    model, data = trained
    before = nets.state_of(model)
    run = exported(model, tmp_path / "trained.tflite", "int8").runner()
    kinds = {name: kind for name, kind in run.op_counts() if name not in PLUMBING}
    assert set(kinds.values()) == {"int8"}
    assert {"CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "FULLY_CONNECTED"} <= set(kinds)
    # One step of the softmax in int8 is 1/256.
    wanted = np.asarray(model(data))
    assert np.abs(run(data) - wanted).mean() < 2 / 256
    assert nets.state_of(model) == before


# How Keras 3.15 reads its own variables.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_it_is_saved_and_loaded(trained, tmp_path):
    import keras

    model, data = trained
    model.save(tmp_path / "trained.keras")
    loaded = keras.models.load_model(tmp_path / "trained.keras")
    np.testing.assert_array_equal(np.asarray(loaded(data)), np.asarray(model(data)))


def test_stripped_it_is_a_plain_model_of_nearly_the_same_results(trained):
    model, data = trained
    plain = stripped(model)
    modules = {type(layer).__module__.partition(".")[0] for layer in plain.layers}
    assert modules == {"keras"}
    difference = np.abs(np.asarray(plain(data)) - np.asarray(model(data)))
    assert difference.mean() < 0.1 * spread(model, data)


def test_before_training_it_gives_nearly_what_the_model_gives():
    model = models.residual()
    data = models.data_for(model, 32)
    made = fake_quantised(model, data)
    assert [type(one).__name__ for one in made.model.layers].count("BatchNormalization") == 0
    difference = np.abs(np.asarray(made.model(data)) - np.asarray(model(data)))
    assert difference.mean() < 0.03 * spread(model, data)


def test_it_is_the_same_every_time():
    import keras

    def weights():
        model = models.flattened()
        data = models.data_for(model, 32)
        made = fake_quantised(model, data, weight_bits=4).model
        keras.utils.set_random_seed(1)
        made.compile("adam", "mse")
        made.fit(data, np.zeros((32, 3)), batch_size=8, verbose=0)
        return [np.asarray(one).tobytes() for one in made.variables]

    assert weights() == weights()


def test_two_bits_are_learned():
    import keras
    from keras import layers
    from sklearn.datasets import load_digits

    keras.utils.set_random_seed(0)
    images, labels = load_digits(return_X_y=True)
    images = (images.reshape(-1, 8, 8, 1) / 16).astype("float32")
    inputs = keras.Input((8, 8, 1))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same")(inputs)))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(24, 3, strides=2)(x)))
    model = keras.Model(inputs, layers.Dense(10)(layers.Flatten()(x)))
    settings = {
        "loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        "metrics": ["accuracy"],
    }
    model.compile(keras.optimizers.Adam(3e-3), **settings)
    model.fit(images[:1200], labels[:1200], batch_size=32, epochs=3, verbose=0)

    made = fake_quantised(model, images[:256], weight_bits=2).model
    made.compile(keras.optimizers.Adam(1e-3), **settings)
    before = made.evaluate(images[1200:], labels[1200:], verbose=0)[1]
    made.fit(images[:1200], labels[:1200], batch_size=32, epochs=2, verbose=0)
    after = made.evaluate(images[1200:], labels[1200:], verbose=0)[1]
    assert after > before + 0.05


def test_layers_that_stay_in_float_are_listed_with_the_reason():
    model = nets.recurrent()
    made = fake_quantised(model, models.data_for(model))
    assert [(one.layer, one.reason) for one in made.skipped] == [
        (model.layers[1].name, "no int8 training for LSTM")
    ]
    assert made.notes == (f"These layers stay in float: {model.layers[1].name}.",)


def test_frozen_layers_stay_frozen():
    model = models.flattened()
    model.layers[0].trainable = False
    made = fake_quantised(model, models.data_for(model)).model
    assert not made.get_layer(model.layers[0].name).trainable
    assert made.get_layer(model.layers[-1].name).trainable


def test_half_precision_is_trained_in_float32():
    model = nets.half_precision()
    made = fake_quantised(model, models.data_for(model)).model
    assert {layer.compute_dtype for layer in made.layers} == {"float32"}


@pytest.mark.parametrize("bits", [{"bits": 1}, {"weight_bits": 9}])
def test_bits_that_there_are_not_are_refused(bits):
    ((name, value),) = bits.items()
    model = models.flattened()
    with pytest.raises(UsageError, match=f"{name}={value}: it takes 2 to 8"):
        fake_quantised(model, models.data_for(model), **bits)


def test_what_has_nothing_to_strip_is_told():
    with pytest.raises(UsageError, match="has nothing to strip"):
        stripped(models.flattened())


def test_a_subclassed_model_is_told():
    with pytest.raises(ModelError, match="is subclassed"):
        fake_quantised(models.subclassed(), np.ones((2, 3)))


def placed(model):
    """Return the names of the layers in order, and the layers that were skipped."""
    graph = graph_of(model)
    placing = FakeQuantPlacer(graph, bits=8, weight_bits=8)
    names = [call.name for call in graph_of(rebuild_graph(graph, placing)).calls]
    return names, [one.layer for one in placing.skipped]


def test_a_relu_is_rounded_together_with_what_is_before_it():
    names, skipped = placed(folded(models.residual()).model)
    assert names == [
        "input_quant",
        *("stem", "stem_act", "stem_act_quant"),
        *("conv_a", "act_a", "act_a_quant"),
        *("conv_b", "conv_b_quant"),
        *("add", "act", "act_quant"),
        *("pool", "pool_quant", "head", "head_quant"),
    ]
    assert skipped == []


def test_every_kind_of_place_is_rounded_as_the_runtime_does():
    names, skipped = placed(nets.branches())
    assert skipped == ["late_norm"]  # folded or replaced before, in `fake_quantised`
    for name in ("first", "squeeze", "gate", "gated", "joined", "separable", "leaky", "head"):
        assert names.count(f"{name}_quant") == 1
    assert names.index("up_quant") < names.index("up_activation") < names.index("up_quant_2")
    assert names.index("gate_quant") < names.index("gate_activation") < names.index("gate_quant_2")
    assert names.index("separable_depthwise_quant") < names.index("separable")
    # Numbers that only move, and what leaves the model, are not rounded again.
    assert not {"down_quant", "flat_quant", "head_activation_quant"} & set(names)


def test_a_layer_that_is_called_twice_is_one_with_two_roundings():
    names, _ = placed(models.shared())
    assert names.count("shared") == 2
    assert {"shared_quant", "shared_quant_2"} <= set(names)


def test_unknown_layers_with_weights_are_listed():
    names, skipped = placed(models.masked())
    assert skipped[0].startswith("embedding")
    assert len(skipped) == 5
    assert any(name.startswith("dense") for name in names)


def test_objects_of_the_users_go_over_and_back():
    import keras

    class Own(keras.regularizers.Regularizer):
        def __call__(self, x):
            return keras.ops.sum(x)

        def get_config(self):
            return {}

    regularizer = Own()
    layer = keras.layers.Conv2D(
        3, 3, strides=2, kernel_regularizer=regularizer, bias_constraint="non_neg", name="own"
    )
    x = np.ones((1, 6, 6, 2), "float32")
    layer(x)
    fake = fake_like(layer, weight_bits=8, activation=layer.activation, name="own")
    fake(x)
    plain = plain_like(fake)
    plain(x)
    take_weights(plain, fake)
    for one in (fake, plain):
        assert one.kernel_regularizer is regularizer
        assert isinstance(one.bias_constraint, keras.constraints.NonNeg)
        assert (one.strides, one.name) == ((2, 2), "own")
    assert type(plain) is keras.layers.Conv2D


@pytest.mark.parametrize("rank", ["1D", "2D"])
def test_a_separable_convolution_is_two(rank):
    import keras

    layer = getattr(keras.layers, f"SeparableConv{rank}")(
        4, 3, strides=2, padding="same", depth_multiplier=2, activation="relu", name="both"
    )
    x = np.random.default_rng(0).normal(size=(2, *[8] * int(rank[0]), 3)).astype("float32")
    wanted = np.asarray(layer(x))
    first, second = separable_parts(layer, weight_bits=8, activation=layer.activation, name="both")
    second(first(x))
    take_separable(layer, first, second)
    assert (first.name, second.name) == ("both_depthwise", "both")
    assert np.abs(np.asarray(second(first(x))) - wanted).max() < 0.03 * wanted.std()


@pytest.mark.parametrize("build", [models.residual, models.nested_functional, models.mobile])
def test_results_are_the_same(build):
    model = build()
    data = models.data_for(model)
    made = norms_as_convolutions(model)
    kinds = [type(layer).__name__ for layer in made.layers]
    assert kinds.count("BatchNormalization") == (1 if build is models.mobile else 0)
    for ours, theirs in zip(
        models.results(made, data), models.results(model, data, training=False), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_a_model_without_any_is_itself():
    model = models.flattened()
    assert norms_as_convolutions(model) is model


def test_one_that_normalises_by_its_batch_for_ever_stays():
    import keras

    inputs = keras.Input((4, 4, 2))
    norm = keras.layers.BatchNormalization(name="norm")
    model = keras.Model(inputs, norm(inputs, training=True))
    assert type(norms_as_convolutions(model).get_layer("norm")) is keras.layers.BatchNormalization


def call(make):
    """Return a call of a layer that a function makes of `keras.layers`."""
    from keras import layers

    return SimpleNamespace(layer=make(layers))


@pytest.mark.parametrize(
    ("make", "role"),
    [
        pytest.param(lambda k: k.Conv2D(2, 3), LayerRole.WEIGHTED, id="conv"),
        pytest.param(lambda k: k.Dense(2), LayerRole.WEIGHTED, id="dense"),
        pytest.param(lambda k: k.SeparableConv2D(2, 3), LayerRole.SEPARABLE, id="separable"),
        pytest.param(lambda k: k.Add(), LayerRole.MIXING, id="add"),
        pytest.param(lambda k: k.Concatenate(), LayerRole.MIXING, id="concat"),
        pytest.param(lambda k: k.ReLU(), LayerRole.RECTIFYING, id="relu"),
        pytest.param(lambda k: k.ReLU(6.0), LayerRole.RECTIFYING, id="relu6"),
        pytest.param(lambda k: k.ReLU(3.0), LayerRole.BENDING, id="relu of three"),
        pytest.param(lambda k: k.Activation("relu6"), LayerRole.RECTIFYING, id="activation"),
        pytest.param(lambda k: k.Activation("linear"), LayerRole.MOVING, id="no activation"),
        pytest.param(lambda k: k.Activation("tanh"), LayerRole.BENDING, id="tanh"),
        pytest.param(lambda k: k.MaxPooling2D(), LayerRole.MOVING, id="pooling"),
        pytest.param(lambda k: k.UpSampling2D(), LayerRole.MOVING, id="nearest"),
        pytest.param(
            lambda k: k.UpSampling2D(interpolation="bilinear"), LayerRole.UNKNOWN, id="bilin."
        ),
        pytest.param(lambda k: k.LSTM(2), LayerRole.UNKNOWN, id="lstm"),
        pytest.param(
            lambda k: k.Conv2D(2, 3, data_format="channels_first"), LayerRole.UNKNOWN, id="cf"
        ),
    ],
)
def test_a_layer_of_keras_has_a_role(make, role):
    assert layer_role(call(make)) is role


def test_a_class_of_the_users_with_a_known_name_is_unknown():
    def make(layers):
        class Dense(layers.Dense):
            pass

        return Dense(3)

    assert layer_role(call(make)) is LayerRole.UNKNOWN
    assert why_unknown(call(make)) == "a layer that quickfit does not know"


def test_reasons_are_told():
    first = call(lambda k: k.Conv2D(2, 3, data_format="channels_first"))
    assert why_unknown(first).startswith("its channels are first")
    assert why_unknown(call(lambda k: k.LSTM(2))) == "no int8 training for LSTM"


def test_a_leaky_relu_is_not_for_free():
    from keras import layers

    assert not is_rectifier(layers.ReLU(negative_slope=0.1))
    assert not is_rectifier(layers.LeakyReLU())


def test_a_layer_with_lora_is_left_alone():
    import numpy as np

    def make(layers):
        dense = layers.Dense(3)
        dense(np.zeros((1, 4), "float32"))
        dense.enable_lora(2)
        return dense

    assert layer_role(call(make)) is LayerRole.UNKNOWN
    assert why_unknown(call(make)) == "it has LoRA weights: merge them first"
