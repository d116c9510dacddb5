"""How much a model is."""

import warnings

import numpy as np
import pytest

from compression import models
from quickfit.compression.graph import graph_of, rebuilt
from quickfit.compression.weighing.sizes import file_bytes, parameters, weights_bytes
from quickfit.errors import ModelError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def test_the_state_of_the_optimizer_is_not_part_of_the_size(tmp_path):
    model = models.flattened()
    before = file_bytes(rebuilt(graph_of(model)))
    model.compile("adam", "mse")
    model.train_on_batch(models.data_for(model), np.zeros((12, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, about how Keras reads its own variables
        model.save(tmp_path / "with.keras")
    assert file_bytes(rebuilt(graph_of(model))) == before < (tmp_path / "with.keras").stat().st_size


def test_parameters_are_counted_with_those_that_are_not_trained():
    model = models.sequential()
    assert parameters(model) == model.count_params()
    assert weights_bytes(model) == 4 * model.count_params()


def test_small_numbers_take_less_memory():
    from quickfit.compression.quantizing import keras_quantized

    model = models.flattened()
    small = keras_quantized(model).model
    assert weights_bytes(small) < weights_bytes(model)


def test_a_model_that_cannot_be_saved_is_told():
    import keras

    class Odd(keras.layers.Layer):
        def call(self, x):
            return x * 1.0

        def save_own_variables(self, store):
            raise NotImplementedError("no way to save this")

    model = keras.Sequential([keras.Input((3,)), Odd()], name="odd")
    with pytest.raises(ModelError, match=r"'odd' cannot be saved.*no way to save this"):
        file_bytes(rebuilt(graph_of(model)))
