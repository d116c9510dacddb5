"""Where the model and the data come from."""

import numpy as np
import pytest

from quickfit.errors import ModelError, UsageError
from quickfit.tuning.trials import saving
from quickfit.tuning.trials.saving import (
    custom_objects_of,
    recipe_by_function,
    recipe_by_model,
    recipe_by_name,
)
from quickfit.tuning.trials.settings import RecipeKind

from tuning.trials import small_models


@pytest.mark.parametrize("name", ["train:build", "pkg.train:build", "train:Maker.build"])
def test_a_name_is_a_recipe(name, tmp_path):
    recipe = recipe_by_name(name, cwd=tmp_path, batch_size=8)
    assert (recipe.kind, recipe.name, recipe.cwd) == (RecipeKind.NAME, name, tmp_path)
    assert recipe.batch_size == 8
    assert recipe.keeps_input


@pytest.mark.parametrize(
    "name", ["train", "train.py", "train:", ":build", "a b:c", "train.py:3", ""]
)
def test_something_else_than_a_name_is_refused(name, tmp_path):
    with pytest.raises(UsageError, match=r"does not name a function\. Write it as module:function"):
        recipe_by_name(name, cwd=tmp_path)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"gone is no folder, so train:build cannot be looked for"):
        recipe_by_name("train:build", cwd=tmp_path / "gone")


def test_a_function_is_a_recipe():
    def build():
        return None

    recipe = recipe_by_function(build)
    assert recipe.kind is RecipeKind.FUNCTION
    assert recipe.name.endswith("build")
    assert recipe.payload


def my_loss(y, predicted):
    import keras

    return keras.losses.sparse_categorical_crossentropy(y, predicted) * 2


@pytest.mark.loads_tf
def test_the_model_comes_back_with_its_weights_and_its_compiling(tf, tmp_path):
    model = small_models.model(loss=my_loss, metrics=["accuracy"], steps_per_execution=2)
    recipe = recipe_by_model(model, small_models.arrays(), tmp_path)
    assert (recipe.kind, recipe.batch_size, recipe.keeps_input) == (RecipeKind.MODEL, 32, False)
    made, (x, y) = saving.load_saved(tmp_path)
    for one, other in zip(model.get_weights(), made.get_weights(), strict=True):
        assert np.array_equal(one, other)
    assert made.compiled
    assert made.steps_per_execution == 2
    ours = model.evaluate(x, y, verbose=0)
    assert made.evaluate(x, y, verbose=0) == pytest.approx(ours)


@pytest.mark.loads_tf
def test_arrays_are_kept_whole(tf, tmp_path):
    recipe_by_model(small_models.model(), small_models.arrays(), tmp_path)
    _, (x, _) = saving.load_saved(tmp_path)
    assert np.array_equal(x, small_models.arrays()[0])


@pytest.mark.loads_tf
def test_of_a_data_set_some_samples_are_kept_and_its_length_is_known(tf, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "KEPT_SAMPLES", 20)
    recipe_by_model(small_models.model(), small_models.dataset(), tmp_path)
    _, data = saving.load_saved(tmp_path)
    batches = list(data)
    assert len(batches) == 9
    assert sum(len(y) for _, y in batches) == 70
    assert np.array_equal(batches[0][0], small_models.arrays()[0][:8])


@pytest.mark.loads_tf
def test_an_endless_data_set_stays_endless(tf, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "KEPT_SAMPLES", 20)
    recipe_by_model(small_models.model(), small_models.dataset().repeat(), tmp_path)
    assert int(saving.load_saved(tmp_path).data.cardinality()) == -1


@pytest.mark.loads_tf
def test_layers_of_the_user_come_along(tf, tmp_path):
    import keras

    class Twice(keras.layers.Layer):
        def call(self, x):
            return x * 2

    model = keras.Sequential([keras.Input((4,)), Twice(), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    assert custom_objects_of(model)["Twice"] is Twice
    recipe_by_model(model, small_models.dataset(), tmp_path)
    assert type(saving.load_saved(tmp_path).model.layers[0]).__name__ == "Twice"


@pytest.mark.loads_tf
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
    recipe_by_model(model, (x, y), tmp_path)
    made = saving.load_saved(tmp_path).model
    assert np.allclose(made(x), model(x))
    assert made.compiled


@pytest.mark.loads_tf
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
        recipe_by_model(model, small_models.arrays(), tmp_path)


@pytest.mark.loads_tf
def test_a_model_that_cannot_be_saved_is_refused_with_the_way_out(tf, tmp_path):
    import keras

    class Odd(keras.layers.Layer):
        def get_config(self):
            raise RuntimeError("no config today")

    model = keras.Sequential([keras.Input((4,)), Odd()])
    model.compile("sgd", "mse")
    with pytest.raises(ModelError) as caught:
        recipe_by_model(model, small_models.arrays(), tmp_path)
    text = str(caught.value)
    assert "cannot be saved for trials in other processes (RuntimeError: no config today)" in text
    assert "quickfit tune module:function" in text


@pytest.mark.loads_tf
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
    recipe_by_model(model, small_models.arrays(), tmp_path)
    with pytest.raises(ModelError, match="was saved, but cannot be made again from that"):
        saving.load_saved(tmp_path)


@pytest.mark.loads_tf
def test_batches_that_do_not_fit_together_are_refused(tf, tmp_path):
    ragged = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1.0], [2.0, 3.0]])).batch(2)
    with pytest.raises(ModelError, match="cannot be put together to be kept"):
        recipe_by_model(small_models.model(), ragged, tmp_path)


@pytest.mark.loads_tf
def test_a_slow_pipeline_gives_fewer(tf, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "KEPT_S", 0.0)
    recipe_by_model(small_models.model(), small_models.dataset(), tmp_path)
    _, data = saving.load_saved(tmp_path)
    first, second = (x for x, _ in data.take(2))
    assert np.array_equal(first, second)


@pytest.mark.loads_tf
def test_a_model_that_is_not_compiled_is_refused(tf, tmp_path):
    import keras

    with pytest.raises(ModelError, match=r"^the model is not compiled\. Where it is made, add"):
        recipe_by_model(keras.Sequential(), small_models.arrays(), tmp_path)


@pytest.mark.loads_tf
def test_something_else_than_a_model_is_refused(tf, tmp_path):
    with pytest.raises(ModelError, match=r"^the model is a dict, not a Keras model\."):
        recipe_by_model({}, small_models.arrays(), tmp_path)


def my_activation(x):
    return x * 2


def my_metric(y, predicted):
    return y - predicted


@pytest.mark.loads_tf
def test_classes_and_functions_of_the_user_are_found_everywhere(tf):
    import keras

    class Inner(keras.layers.Layer):
        def call(self, x):
            return x

    class MyLoss(keras.losses.Loss):
        def call(self, y, predicted):
            return y - predicted

    @keras.saving.register_keras_serializable("mine")
    class MyRate(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            return 0.1

        def get_config(self):
            return {}

    nested = keras.Sequential([keras.Input((4,)), Inner()])
    model = keras.Sequential([nested, keras.layers.Dense(2, activation=my_activation)])
    model.compile(keras.optimizers.SGD(MyRate()), MyLoss(), metrics=[my_metric, "mae"])
    found = custom_objects_of(model)
    assert {"Inner", "MyLoss", "MyRate", "mine>MyRate", "my_activation", "my_metric"} <= set(found)
    assert not {"Dense", "Sequential", "SGD"} & set(found)
