"""What layers are for int8."""

from types import SimpleNamespace

import pytest

from quickfit.compression.quantizing.roles import Role, is_rectifier, role_of, why_unknown

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def call(make):
    """Return a call of a layer that a function makes of `keras.layers`."""
    from keras import layers

    return SimpleNamespace(layer=make(layers))


@pytest.mark.parametrize(
    ("make", "role"),
    [
        pytest.param(lambda k: k.Conv2D(2, 3), Role.WEIGHTED, id="conv"),
        pytest.param(lambda k: k.Dense(2), Role.WEIGHTED, id="dense"),
        pytest.param(lambda k: k.SeparableConv2D(2, 3), Role.SEPARABLE, id="separable"),
        pytest.param(lambda k: k.Add(), Role.MIXING, id="add"),
        pytest.param(lambda k: k.Concatenate(), Role.MIXING, id="concat"),
        pytest.param(lambda k: k.ReLU(), Role.RECTIFYING, id="relu"),
        pytest.param(lambda k: k.ReLU(6.0), Role.RECTIFYING, id="relu6"),
        pytest.param(lambda k: k.ReLU(3.0), Role.BENDING, id="relu of three"),
        pytest.param(lambda k: k.Activation("relu6"), Role.RECTIFYING, id="activation"),
        pytest.param(lambda k: k.Activation("linear"), Role.MOVING, id="no activation"),
        pytest.param(lambda k: k.Activation("tanh"), Role.BENDING, id="tanh"),
        pytest.param(lambda k: k.MaxPooling2D(), Role.MOVING, id="pooling"),
        pytest.param(lambda k: k.UpSampling2D(), Role.MOVING, id="nearest"),
        pytest.param(lambda k: k.UpSampling2D(interpolation="bilinear"), Role.UNKNOWN, id="bilin."),
        pytest.param(lambda k: k.LSTM(2), Role.UNKNOWN, id="lstm"),
        pytest.param(lambda k: k.Conv2D(2, 3, data_format="channels_first"), Role.UNKNOWN, id="cf"),
    ],
)
def test_a_layer_of_keras_has_a_role(make, role):
    assert role_of(call(make)) is role


def test_a_class_of_the_users_with_a_known_name_is_unknown():
    def make(layers):
        class Dense(layers.Dense):
            pass

        return Dense(3)

    assert role_of(call(make)) is Role.UNKNOWN
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

    assert role_of(call(make)) is Role.UNKNOWN
    assert why_unknown(call(make)) == "it has LoRA weights: merge them first"
