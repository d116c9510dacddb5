"""Softmax and sigmoid at the end of a model are found wherever they are written."""

import pytest

from compression.distilling.pupils import ending
from quickfit.compression.distilling.heads import heads_of
from quickfit.compression.graph import graph_of

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


@pytest.mark.parametrize(
    ("end", "activation", "is_inside"),
    [
        ("dense", "softmax", True),
        ("layer", "softmax", False),
        ("activation", "softmax", False),
        ("operation", "softmax", False),
        ("cast", "softmax", True),
        ("sigmoid", "sigmoid", True),
        ("logits", "linear", False),
        ("hidden", "linear", False),
        ("axis", "linear", False),
    ],
)
def test_the_activation_is_found(end, activation, is_inside):
    (head,) = heads_of(graph_of(ending(end)))
    assert (head.activation, head.is_inside) == (activation, is_inside)


def test_a_function_of_the_users_that_is_called_softmax_is_not_taken_for_it():
    import keras

    def softmax(x):
        return x * 2

    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.layers.Dense(2, activation=softmax)(inputs))
    assert heads_of(graph_of(model))[0].activation == "linear"


def test_the_input_as_output_has_no_activation():
    import keras

    inputs = keras.Input((4,))
    model = keras.Model(inputs, [keras.layers.Dense(1, activation="sigmoid")(inputs), inputs])
    assert [head.activation for head in heads_of(graph_of(model))] == ["sigmoid", "linear"]
