"""Training for int8."""

import numpy as np
import pytest

from compression import models
from compression.quantizing import nets
from quickfit.compression.quantizing import exported, fake_quantised, stripped
from quickfit.compression.quantizing.operators import PLUMBING
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
