"""Which kinds of calls can be counted."""

import pytest

from quickfit.compression.counting.table import operations

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]

SHAPE = (1, 4, 4, 2)


def test_layers_that_only_move_values_are_free():
    import keras

    for layer in (keras.layers.Dropout(0.5), keras.layers.Flatten(), keras.layers.RandomFlip()):
        assert operations(layer, [SHAPE], [SHAPE]) == 0


def test_layers_that_work_value_by_value_are_counted_per_value():
    import keras

    kinds = keras.layers
    for layer, per_value in [
        (kinds.ReLU(), 1),
        (kinds.Activation("tanh"), 1),
        (kinds.Activation("linear"), 0),
        (kinds.BatchNormalization(), 2),
        (kinds.LayerNormalization(), 7),
        (kinds.Softmax(), 5),
    ]:
        assert operations(layer, [SHAPE], [SHAPE]) == per_value * 32
    assert operations(kinds.Add(), [SHAPE] * 3, [SHAPE]) == 2 * 32
    assert operations(kinds.MaxPooling2D(2), [SHAPE], [(1, 2, 2, 2)]) == 8 * 4
    assert operations(kinds.GlobalAveragePooling2D(), [SHAPE], [(1, 2)]) == 32


def test_a_layer_with_its_own_call_is_not_guessed():
    import keras

    class Odd(keras.layers.Dense):
        def call(self, x):
            return super().call(x) ** 2

    assert operations(Odd(3), [(1, 4)], [(1, 3)]) is None
    assert operations(keras.layers.Resizing(2, 2), [SHAPE], [SHAPE]) is None
    wrapped = keras.layers.TimeDistributed(Odd(3))
    assert operations(wrapped, [(1, 5, 4)], [(1, 5, 3)]) is None


def test_operations_of_keras_are_known_by_name():
    import keras

    x = keras.Input((4, 2))
    made = [x + 1.0, keras.ops.reshape(x, (-1, 8)), keras.ops.sum(x, axis=1), x @ x[:, :2], x / 2]
    nodes = keras.Model(x, made)
    counts = {
        type(op).__name__: operations(op, [(1, 4, 2)], [(1, 4, 2)])
        for op in nodes.operations
        if not isinstance(op, keras.Layer)
    }
    assert counts == {
        "Add": 8,
        "Reshape": 0,
        "Sum": 8,
        "GetItem": 0,
        "Matmul": 2 * 8 * 2,
        "TrueDivide": 8,
    }
    added_up = keras.ops.cumsum(x)
    odd = keras.Model(x, added_up).operations[-1]
    assert operations(odd, [(1, 4, 2)], [(1, 4, 2)]) is None
