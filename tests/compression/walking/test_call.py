"""A recorded call made again, by the same or by another layer."""

import numpy as np
import pytest

from quickfit.compression.graph import graph_of
from quickfit.compression.walking.call import Call, Ref

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def test_tensors_take_their_places_among_constants():
    call = Call(
        None, "op", (1, 2), (3,), ([Ref(1), 5], slice(0, 2)), {"mask": Ref(2), "axis": None}
    )
    args, kwargs = call.arguments({1: "x", 2: "m"})
    assert args == (["x", 5], slice(0, 2))
    assert kwargs == {"mask": "m", "axis": None}


def test_tensors_are_found_by_the_argument_they_were_given_as():
    import keras

    x, y, m = keras.Input((3, 4)), keras.Input((5, 4)), keras.Input((3, 5), dtype="bool")
    heads = keras.layers.MultiHeadAttention(2, 2)
    model = keras.Model([x, y, m], heads(x, key=y, value=y, attention_mask=m))
    found = graph_of(model).calls[0].tensors_by_argument()
    assert found == {"query": (0,), "value": (1,), "key": (1,), "attention_mask": (2,)}


def test_arguments_that_keras_added_are_left_out_where_they_are_not_taken():
    import keras

    x = keras.Input((3,))
    norm = keras.layers.BatchNormalization()
    call = graph_of(keras.Model(x, norm(x))).calls[0]
    assert "mask" in call.kwargs

    class Doubled(keras.layers.Layer):
        def call(self, x):
            return 2 * x

    made = call.replay(Doubled(), [np.ones((1, 3), "float32")], training=False)
    np.testing.assert_array_equal(made, np.full((1, 3), 2.0))
