"""Tests of weights carried from layers to their copies, and of layers that refuse."""

import pytest

from quickfit.errors import ModelError
from quickfit.tuning.precision.applying import apply_precision

pytestmark = pytest.mark.loads_tf


def around(layer):
    import keras

    inputs = keras.Input((8,))
    return keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))


def test_a_layer_with_other_parts_when_made_again_is_named(models):
    import keras

    class Forgetful(keras.layers.Layer):
        def __init__(self, count=1, **options):
            super().__init__(**options)
            self.parts = [keras.layers.Dropout(0.1) for _ in range(count)]

        def call(self, x):
            return self.parts[-1](x)

        def get_config(self):
            return super().get_config()

    with pytest.raises(ModelError, match=r"\(Forgetful\) has other parts when it is made again"):
        apply_precision(around(Forgetful(3, name="forgetful")))


def test_a_layer_that_uses_weights_of_another_is_refused(models):
    import keras

    class Tied(keras.layers.Layer):
        def __init__(self, other=None, **options):
            super().__init__(**options)
            self.other = other or keras.layers.Dense(8)

        def call(self, x):
            return self.other(x)

        def get_config(self):
            return super().get_config()

    inputs = keras.Input((8,))
    first = keras.layers.Dense(8)
    model = keras.Model(inputs, keras.layers.Dense(1)(Tied(first)(first(inputs))))
    with pytest.raises(ModelError, match="has 4 weights and a copy of it 6: a layer uses weights"):
        apply_precision(model)


def test_a_layer_that_loads_something_else_is_found_out(models):
    import keras

    class Liar(keras.layers.Dense):
        def load_own_variables(self, store):
            pass

    with pytest.raises(ModelError, match=r"kernel' of the layer 'liar' \(Liar\) is not the same"):
        apply_precision(around(Liar(8, name="liar")))
