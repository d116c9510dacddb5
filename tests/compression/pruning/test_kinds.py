"""What is known of layers and activations."""

import pytest

from quickfit.compression.pruning.kinds import channel_axis, kind_of, mixes_channels, obstacle

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


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


def test_a_class_of_the_user_has_no_kind():
    import keras

    class Dense(keras.layers.Dense):
        pass

    assert kind_of(Dense(3)) == ""
    assert kind_of(keras.layers.Dense(3)) == "Dense"


def test_channels_are_counted_from_the_end():
    from keras import layers

    assert channel_axis(layers.Conv2D(3, 3, data_format="channels_first"), 4) == -3
    assert channel_axis(layers.Conv2D(3, 3, data_format="channels_last"), 4) == -1
    assert channel_axis(layers.ReLU(), 4) == -1


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # inside Keras
def test_what_stands_in_the_way_is_said():
    from keras import layers

    dense = layers.Dense(8)
    dense.build((None, 8))
    assert obstacle(dense) == ""
    dense.enable_lora(2)
    assert obstacle(dense) == "has LoRA weights"
    quantized = layers.Dense(8)
    quantized.build((None, 8))
    quantized.quantize("int8")
    assert obstacle(quantized) == "is quantized"
    assert obstacle(layers.Conv2D(8, 3, groups=2)) == "is a convolution in groups"
    assert obstacle(layers.Dropout(0.1, noise_shape=(None, 5))) == "has a noise_shape"
    assert obstacle(layers.Dropout(0.1, noise_shape=(None, 1))) == ""
