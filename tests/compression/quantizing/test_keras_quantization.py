"""Keras's own int8 and int4."""

import numpy as np
import pytest

from compression import models
from compression.quantizing import nets
from quickfit.compression.quantizing import keras_quantized
from quickfit.errors import ModelError, UsageError

pytestmark = [
    pytest.mark.loads_tf,
    pytest.mark.usefixtures("tf"),
    # How Keras 3.15 reads its own integer variables.
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]


@pytest.mark.parametrize(("mode", "tolerance"), [("int8", 0.05), ("int4", 0.6)])
def test_dense_layers_get_small_and_the_model_stays_as_it_was(mode, tolerance, tmp_path):
    import keras

    model = models.flattened()
    before, data = nets.state_of(model), models.data_for(model)
    made = keras_quantized(model, mode)
    wanted = np.asarray(model(data))
    assert np.abs(np.asarray(made.model(data)) - wanted).max() < tolerance * wanted.std()
    kinds = {layer.name: layer.dtype_policy.name for layer in made.model.layers}
    assert sum(kind.startswith(mode) for kind in kinds.values()) == 2
    assert [one.reason for one in made.skipped] == ["Keras has no Conv2D in int8"]
    assert "cannot be exported to LiteRT" in made.notes[0]
    assert nets.state_of(model) == before

    made.model.save(tmp_path / "small.keras")
    loaded = keras.models.load_model(tmp_path / "small.keras")
    np.testing.assert_array_equal(np.asarray(loaded(data)), np.asarray(made.model(data)))


def test_layers_inside_of_attention_stay_float_so_that_the_file_loads_again(tmp_path):
    import keras
    from keras import layers

    words = keras.Input((4,), dtype="int32")
    x = layers.Embedding(10, 8)(words)
    x = layers.MultiHeadAttention(2, 4, name="attention")(x, x)
    made = keras_quantized(keras.Model(words, layers.Dense(2)(x)))
    assert [one.layer for one in made.skipped] == ["attention"]
    made.model.save(tmp_path / "small.keras")
    data = np.array([[1, 2, 3, 4]])
    loaded = keras.models.load_model(tmp_path / "small.keras")
    np.testing.assert_array_equal(np.asarray(loaded(data)), np.asarray(made.model(data)))


def test_a_model_without_such_layers_is_told():
    with pytest.raises(ModelError, match="has no Dense or Embedding layer to quantise"):
        keras_quantized(models.nested_functional())


def test_a_mode_that_is_none_is_told():
    with pytest.raises(UsageError, match="mode='float8': there are int8 and int4"):
        keras_quantized(models.flattened(), "float8")
