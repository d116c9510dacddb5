"""What a step needs at least, known from shapes."""

import pytest

from quickfit.tuning.trials.footprint import step_bytes

pytestmark = pytest.mark.loads_tf


def test_the_outputs_of_all_layers_are_added_up_also_of_inner_models(tf):
    import keras

    inner = keras.Sequential([keras.Input((8,)), keras.layers.Dense(100)])
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), inner])
    found = step_bytes(model, 10)
    assert 4 * 10 * (8 + 100) <= found <= 4 * 10 * (4 + 8 + 8 + 2 * 100)
    assert step_bytes(model, 20) == 2 * found


def test_a_length_that_is_open_counts_once_and_half_floats_half(tf):
    import keras

    layer = keras.layers.Dense(16, dtype="mixed_bfloat16")
    inputs = keras.Input((None, 4))
    model = keras.Model(inputs, layer(inputs))
    assert step_bytes(model, 10) == 10 * (4 * 4 + 2 * 16)


def test_of_a_subclassed_model_nothing_is_known(tf):
    import keras

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(4)

        def call(self, x):
            return self.dense(x)

    assert step_bytes(Own(), 10) == 0


def test_a_layer_that_is_used_twice_has_no_single_output(tf):
    import keras

    dense = keras.layers.Dense(4)
    inputs = keras.Input((4,))
    assert step_bytes(keras.Model(inputs, dense(dense(inputs))), 10) >= 4 * 10 * 4
