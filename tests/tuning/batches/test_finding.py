import pickle

import numpy as np
import pytest

from quickfit.errors import ModelError, UsageError
from quickfit.tuning import find_batch_size
from quickfit.tuning.batches import search
from quickfit.tuning.batches.finding import INSIDE, recipe_of
from quickfit.tuning.trials.answers import Failure
from quickfit.tuning.trials.recipes import Kind

from tuning.batches import builders_of_trouble


def test_a_name_and_a_function_are_taken(tmp_path):
    assert recipe_of("train:build", None, tmp_path).kind is Kind.NAME
    assert recipe_of(lambda: None, None, tmp_path).kind is Kind.FUNCTION


@pytest.mark.parametrize(
    ("build", "data", "said"),
    [
        (5, None, r"find_batch_size\(int\): give a function that returns a compiled model"),
        (None, None, r"find_batch_size\(NoneType\): give a function"),
        ("train:build", [1], r"find_batch_size\('train:build', data\): a named function returns"),
        (lambda: "model", [1], r"build\(\) returned str, not a Keras model\. Return the model"),
        ("train.py", None, r"'train.py' does not name a function"),
    ],
)
def test_what_cannot_be_tried_is_told_before_anything_starts(build, data, said):
    with pytest.raises(UsageError, match=said):
        find_batch_size(build, data)


def test_a_wrong_option_is_told_before_anything_starts():
    with pytest.raises(UsageError, match=r"mode='fast'"):
        find_batch_size("train:build", mode="fast")


def test_too_little_memory_is_told_before_anything_starts():
    with pytest.raises(UsageError, match=r"Python and TensorFlow alone hold about 600 MB"):
        find_batch_size("train:build", memory_limit="200 MB")


def test_a_trial_that_would_search_again_is_told_how_not_to(monkeypatch):
    monkeypatch.setenv(INSIDE, "1")
    with pytest.raises(UsageError, match=r'(?s)called again.*if __name__ == "__main__":'):
        find_batch_size("train:build")


@pytest.fixture
def model(tf):
    """Return a small compiled model."""
    import keras

    made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


@pytest.mark.loads_tf
def test_a_model_without_data_is_told(model):
    with pytest.raises(
        UsageError, match=r"the data are missing.*find_batch_size\(model, \(x, y\)\)"
    ):
        find_batch_size(model)


@pytest.mark.loads_tf
def test_a_model_or_a_function_that_returns_one_is_taken_with_data_beside_it(model, tmp_path):
    data = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
    for number, build in enumerate((model, lambda: model)):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert recipe_of(build, data, folder).kind is Kind.MODEL


@pytest.mark.loads_tf
def test_a_function_is_carried_where_its_model_cannot_be_saved(model, tmp_path):
    import keras

    class Sized(keras.Model):  # no get_config: Keras would make it again with its defaults
        def __init__(self, units=1):
            super().__init__()
            self.last = keras.layers.Dense(units)

        def call(self, x):
            return self.last(x)

    def build():
        made = Sized(3)
        made.compile("sgd", "mse")
        return made

    data = np.ones((64, 4), "float32"), np.ones((64, 3), "float32")
    recipe = recipe_of(build, data, tmp_path)
    assert (recipe.kind, recipe.batch_size, recipe.keeps_input) == (Kind.FUNCTION, 32, False)
    made, (x, _) = pickle.loads(recipe.payload)()
    assert made.last.units == 3
    assert (x == data[0]).all()


@pytest.mark.tf
@pytest.mark.tf_any
def test_sizes_that_hang_are_killed_or_take_too_much_leave_the_one_that_works(monkeypatch):
    monkeypatch.setattr(search, "MIN_PATIENCE_S", 15.0)
    monkeypatch.setattr(search, "PATIENCE", 1.0)
    told = []
    plan = find_batch_size(
        builders_of_trouble.build,
        sizes=(8, 16, 32, 64),
        memory_limit="2.5 GB",
        budget_s=300,
        progress=told.append,
    )
    rows = {row.batch: row for row in plan.evidence}
    assert rows[builders_of_trouble.HANGS].failure is Failure.HUNG
    # Whether somebody else killed it can be told on some systems only.
    assert rows[32].failure in (Failure.CRASHED, Failure.OUT_OF_MEMORY)
    assert "SIGKILL" in rows[32].text
    assert rows[builders_of_trouble.TAKES_TOO_MUCH].failure is Failure.OUT_OF_MEMORY
    assert rows[8].is_measured
    assert rows[8].peak_bytes < 2.5e9
    assert plan.micro_batch == 8
    assert plan.time is None
    for batch in rows:
        assert any(line.startswith(f"batch {batch}: ") for line in told)


@pytest.mark.tf
@pytest.mark.tf_any
def test_an_error_of_the_user_is_shown_as_it_is():
    with pytest.raises(ModelError) as caught:
        find_batch_size(builders_of_trouble.broken)
    assert "builders_of_trouble.py" in str(caught.value)
    assert str(caught.value).endswith("ValueError: there are no images in data/train")
