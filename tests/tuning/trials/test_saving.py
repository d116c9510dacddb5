"""A model object and its data are kept, and made again from that."""

import numpy as np
import pytest

from quickfit.errors import ModelError
from quickfit.tuning.trials import saving
from quickfit.tuning.trials.custom_objects import custom_objects_of
from quickfit.tuning.trials.recipes import Kind, by_model

from tuning.trials import small_models

pytestmark = pytest.mark.loads_tf


def my_loss(y, predicted):
    import keras

    return keras.losses.sparse_categorical_crossentropy(y, predicted) * 2


def test_the_model_comes_back_with_its_weights_and_its_compiling(tf, tmp_path):
    model = small_models.model(loss=my_loss, metrics=["accuracy"], steps_per_execution=2)
    recipe = by_model(model, small_models.arrays(), tmp_path)
    assert (recipe.kind, recipe.batch_size, recipe.keeps_input) == (Kind.MODEL, 32, False)
    made, (x, y) = saving.load(tmp_path)
    for one, other in zip(model.get_weights(), made.get_weights(), strict=True):
        assert np.array_equal(one, other)
    assert made.compiled
    assert made.steps_per_execution == 2
    ours = model.evaluate(x, y, verbose=0)
    assert made.evaluate(x, y, verbose=0) == pytest.approx(ours)


def test_arrays_are_kept_whole(tf, tmp_path):
    by_model(small_models.model(), small_models.arrays(), tmp_path)
    _, (x, _) = saving.load(tmp_path)
    assert np.array_equal(x, small_models.arrays()[0])


def test_of_a_data_set_some_samples_are_kept_and_its_length_is_known(tf, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "KEPT_SAMPLES", 20)
    by_model(small_models.model(), small_models.dataset(), tmp_path)
    _, data = saving.load(tmp_path)
    batches = list(data)
    assert len(batches) == 9
    assert sum(len(y) for _, y in batches) == 70
    assert np.array_equal(batches[0][0], small_models.arrays()[0][:8])


def test_an_endless_data_set_stays_endless(tf, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "KEPT_SAMPLES", 20)
    by_model(small_models.model(), small_models.dataset().repeat(), tmp_path)
    assert int(saving.load(tmp_path).data.cardinality()) == -1


def test_layers_of_the_user_come_along(tf, tmp_path):
    import keras

    class Twice(keras.layers.Layer):
        def call(self, x):
            return x * 2

    model = keras.Sequential([keras.Input((4,)), Twice(), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    assert custom_objects_of(model)["Twice"] is Twice
    by_model(model, small_models.dataset(), tmp_path)
    assert type(saving.load(tmp_path).model.layers[0]).__name__ == "Twice"


def test_a_model_class_that_takes_no_options_comes_back(tf, tmp_path):
    import keras

    class Scale(keras.layers.Layer):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def call(self, x):
            return x * self.factor

    class Mine(keras.Model):
        def __init__(self):
            super().__init__()
            self.scale = Scale(3)
            self.dense = keras.layers.Dense(1)

        def call(self, x):
            return self.dense(self.scale(x))

    x, y = small_models.arrays()
    model = Mine()
    model.compile("sgd", "mse")
    model.fit(x, y, verbose=0)
    by_model(model, (x, y), tmp_path)
    made = saving.load(tmp_path).model
    assert np.allclose(made(x), model(x))
    assert made.compiled


def test_a_model_class_whose_arguments_would_be_lost_is_refused(tf, tmp_path):
    import keras

    class Mine(keras.Model):
        def __init__(self, rate=0.1, **options):
            super().__init__(**options)
            self.drop = keras.layers.Dropout(rate)

        def call(self, x):
            return self.drop(x)

    model = Mine(rate=0.5)
    model.compile("sgd", "mse")
    with pytest.raises(ModelError, match=r"with the defaults of its arguments \(Mine\(rate\)\)"):
        by_model(model, small_models.arrays(), tmp_path)


def test_a_model_that_cannot_be_saved_is_refused_with_the_way_out(tf, tmp_path):
    import keras

    class Odd(keras.layers.Layer):
        def get_config(self):
            raise RuntimeError("no config today")

    model = keras.Sequential([keras.Input((4,)), Odd()])
    model.compile("sgd", "mse")
    with pytest.raises(ModelError) as caught:
        by_model(model, small_models.arrays(), tmp_path)
    text = str(caught.value)
    assert "cannot be saved for trials in other processes (RuntimeError: no config today)" in text
    assert "quickfit tune module:function" in text


def test_a_model_that_cannot_be_made_again_is_refused_with_the_way_out(tf, tmp_path):
    import keras

    class Needs(keras.layers.Layer):
        def __init__(self, table, **options):
            super().__init__(**options)
            self.table = table

        def call(self, x):
            return x

        def get_config(self):
            return {}

    model = keras.Sequential([keras.Input((4,)), Needs([1]), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    by_model(model, small_models.arrays(), tmp_path)
    with pytest.raises(ModelError, match="was saved, but cannot be made again from that"):
        saving.load(tmp_path)


def test_batches_that_do_not_fit_together_are_refused(tf, tmp_path):
    ragged = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1.0], [2.0, 3.0]])).batch(2)
    with pytest.raises(ModelError, match="cannot be put together to be kept"):
        by_model(small_models.model(), ragged, tmp_path)


def test_a_slow_pipeline_gives_fewer(tf, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "KEPT_S", 0.0)
    by_model(small_models.model(), small_models.dataset(), tmp_path)
    _, data = saving.load(tmp_path)
    first, second = (x for x, _ in data.take(2))
    assert np.array_equal(first, second)


def test_a_model_that_is_not_compiled_is_refused(tf, tmp_path):
    import keras

    with pytest.raises(ModelError, match=r"^the model is not compiled\. Where it is made, add"):
        by_model(keras.Sequential(), small_models.arrays(), tmp_path)


def test_something_else_than_a_model_is_refused(tf, tmp_path):
    with pytest.raises(ModelError, match=r"^the model is a dict, not a Keras model\."):
        by_model({}, small_models.arrays(), tmp_path)
