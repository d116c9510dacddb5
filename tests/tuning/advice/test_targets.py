"""What can be tuned, how it is named, and what is said of everything else."""

import sys

import pytest

from quickfit.errors import ModelError, UsageError
from quickfit.tuning.advice import targets
from quickfit.tuning.advice.targets import (
    check_tensorflow,
    module_name,
    name_of,
    own_setting,
    recipe_of,
)
from quickfit.tuning.trials.recipes import Kind
from quickfit.tuning.trials.settings import Setting


class Model:
    """Looks like a Keras model."""

    name = "small"
    compiled = False

    def fit(self): ...

    def compile(self): ...

    def get_weights(self): ...


def build():
    return None


def test_a_name_is_a_recipe_by_name(tmp_path):
    recipe = recipe_of("train:build", None, tmp_path)
    assert (recipe.kind, recipe.name) == (Kind.NAME, "train:build")


def test_a_function_is_carried(tmp_path):
    recipe = recipe_of(build, None, tmp_path)
    assert recipe.kind is Kind.FUNCTION
    assert name_of(build) == "build"


def test_a_file_is_a_module_whose_folder_is_searched(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "train.py").touch()
    assert module_name(f"{tmp_path}/train.py:build") == "train:build"
    assert sys.path[0] == str(tmp_path)


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(UsageError, match=r"trian.py:build: there is no file trian.py"):
        module_name("trian.py:build")


@pytest.mark.parametrize("target", [None, 3, {"model": 1}])
def test_something_else_is_told_with_the_ways_there_are(target, tmp_path):
    with pytest.raises(UsageError, match=r"cannot be trained.\nGive one of these:\n.*model, data"):
        recipe_of(target, None, tmp_path)


@pytest.mark.parametrize("target", ["train:build", build])
def test_a_function_with_data_beside_it_is_told(target, tmp_path):
    with pytest.raises(UsageError, match=r"with data beside it\. A function returns both"):
        recipe_of(target, [1], tmp_path)


def test_a_model_without_data_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"without data.\nGive what `fit` gets"):
        recipe_of(Model(), None, tmp_path)


def test_a_model_that_is_not_compiled_is_told_with_the_line(tmp_path):
    with pytest.raises(ModelError, match=r"'small' is not compiled(.|\n)*model.compile\("):
        recipe_of(Model(), [1], tmp_path)


def test_a_missing_tensorflow_is_told_with_how_to_install_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.setattr(targets.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"tensorflow is not installed(.|\n)*quickfit\[cpu\]"):
        check_tensorflow()


@pytest.mark.parametrize(("target", "words"), [(3, "an int (3)"), ({}, "a dict ({})")])
def test_something_else_is_named_as_one_says_it(target, words, tmp_path):
    with pytest.raises(UsageError) as caught:
        recipe_of(target, None, tmp_path)
    assert f"advise: {words} cannot be trained" in str(caught.value)


def test_what_a_compiled_model_has_is_known_and_of_a_name_nothing():
    compiled = Model()
    compiled.jit_compile, compiled.steps_per_execution = True, 32
    assert own_setting(compiled) == Setting(jit=True, steps_per_execution=32)
    assert own_setting(Model()) == Setting(jit=False, steps_per_execution=1)
    assert own_setting("train:build") == Setting()
    assert own_setting(build) == Setting()
