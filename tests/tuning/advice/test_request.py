"""What can be tuned, how it is named, and what is said of everything else."""

import math
import sys

import numpy as np
import pytest

from quickfit.errors import ModelError, UsageError
from quickfit.tuning.advice import request
from quickfit.tuning.advice.candidates import CHANGE_KINDS
from quickfit.tuning.advice.change_table import ChangeKind
from quickfit.tuning.advice.request import (
    budget_words,
    change_kind_named,
    check_batch_settings,
    check_numbers,
    check_setting,
    check_tensorflow,
    input_hint,
    module_name,
    own_setting,
    read_wishes,
    recipe_for_target,
    target_name,
)
from quickfit.tuning.trials.settings import RecipeKind, Setting


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
    recipe = recipe_for_target("train:build", None, tmp_path)
    assert (recipe.kind, recipe.name) == (RecipeKind.NAME, "train:build")


def test_a_function_is_carried(tmp_path):
    recipe = recipe_for_target(build, None, tmp_path)
    assert recipe.kind is RecipeKind.FUNCTION
    assert target_name(build) == "build"


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
        recipe_for_target(target, None, tmp_path)


@pytest.mark.parametrize("target", ["train:build", build])
def test_a_function_with_data_beside_it_is_told(target, tmp_path):
    with pytest.raises(UsageError, match=r"with data beside it\. A function returns both"):
        recipe_for_target(target, [1], tmp_path)


def test_a_model_without_data_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"without data.\nGive what `fit` gets"):
        recipe_for_target(Model(), None, tmp_path)


def test_a_model_that_is_not_compiled_is_told_with_the_line(tmp_path):
    with pytest.raises(ModelError, match=r"'small' is not compiled(.|\n)*model.compile\("):
        recipe_for_target(Model(), [1], tmp_path)


def test_a_missing_tensorflow_is_told_with_how_to_install_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.setattr(request.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"tensorflow is not installed(.|\n)*quickfit\[cpu\]"):
        check_tensorflow()


@pytest.mark.parametrize(("target", "words"), [(3, "an int (3)"), ({}, "a dict ({})")])
def test_something_else_is_named_as_one_says_it(target, words, tmp_path):
    with pytest.raises(UsageError) as caught:
        recipe_for_target(target, None, tmp_path)
    assert f"advise: {words} cannot be trained" in str(caught.value)


def test_what_a_compiled_model_has_is_known_and_of_a_name_nothing():
    compiled = Model()
    compiled.jit_compile, compiled.steps_per_execution = True, 32
    assert own_setting(compiled) == Setting(jit=True, steps_per_execution=32)
    assert own_setting(Model()) == Setting(jit=False, steps_per_execution=1)
    assert own_setting("train:build") == Setting()
    assert own_setting(build) == Setting()


def test_nothing_said_means_everything_that_makes_sense():
    wishes = read_wishes(None)
    assert wishes.kinds == set(CHANGE_KINDS)
    assert not wishes.forced


def test_what_is_named_is_tried_in_any_case_and_alone():
    wishes = read_wishes(["xla", "Precision "])
    assert wishes.kinds == wishes.forced == {ChangeKind.XLA, ChangeKind.PRECISION}
    assert read_wishes("xla").kinds == {ChangeKind.XLA}


def test_settings_are_tried_as_they_are_given():
    wishes = read_wishes([Setting(batch=48), Setting()])
    assert wishes.settings == (Setting(batch=48),)
    assert not wishes.kinds
    assert read_wishes(Setting(jit=True)).settings == (Setting(jit=True),)


@pytest.mark.parametrize("settings", [[], [Setting()]])
def test_an_empty_list_is_told(settings):
    with pytest.raises(UsageError, match=r"settings is empty\..*xla, steps, batch"):
        read_wishes(settings)


def test_an_unknown_word_is_told_with_what_there_is():
    with pytest.raises(UsageError) as caught:
        change_kind_named("step")
    assert "'step' is nothing that can be tried. Did you mean steps?" in str(caught.value)
    assert "xla, steps, batch, precision, threads" in str(caught.value)


@pytest.mark.parametrize("budget_s", [0, -5, 3])
def test_a_budget_that_is_far_too_small_is_told_at_once(budget_s):
    with pytest.raises(UsageError, match=r"is too small.*\n.*--budget 3m"):
        check_numbers(budget_s, None)


@pytest.mark.parametrize("budget_s", [math.nan, math.inf])
def test_a_budget_that_is_no_length_of_time_is_told(budget_s):
    with pytest.raises(UsageError, match=r"is no length of time.\n.*--budget 3m"):
        check_numbers(budget_s, None)


def test_no_steps_left_is_told():
    with pytest.raises(UsageError, match="0 steps left: nothing is left to train"):
        check_numbers(180, 0)
    check_numbers(180, 1)


@pytest.mark.parametrize("name", ["batch", "steps_per_execution", "intra_threads", "inter_threads"])
@pytest.mark.parametrize("value", [0, -4, 2.5, "64", True])
def test_a_count_that_is_none_is_told(name, value):
    with pytest.raises(UsageError) as caught:
        check_setting(Setting(**{name: value}))
    assert f"Setting({name}={value!r}): give a whole number, 1 or more" in str(caught.value)


def test_numbers_of_numpy_become_plain_ones():
    found = check_setting(Setting(batch=np.int64(64), jit=True, policy="mixed_float16"))
    assert found == Setting(batch=64, jit=True, policy="mixed_float16")
    assert type(found.batch) is int


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (Setting(policy="float8"), "'float8' is no policy that quickfit applies"),
        (Setting(jit="yes"), r"Setting\(jit='yes'\): give True or False"),
        (Setting(in_memory=True), "in_memory is no setting to train with"),
    ],
)
def test_other_values_are_told(setting, message):
    with pytest.raises(UsageError, match=message):
        check_setting(setting)


def test_a_batch_beyond_the_arrays_is_told():
    arrays = (np.zeros((20, 3)), np.zeros(20))
    with pytest.raises(UsageError, match=r"batch=64\): the data has only 20 samples.\nGive a"):
        check_batch_settings((Setting(jit=True), Setting(batch=64)), arrays)
    check_batch_settings((Setting(batch=20),), arrays)


def test_of_other_data_nothing_is_known_yet():
    check_batch_settings((Setting(batch=64),), None)
    check_batch_settings((Setting(batch=64),), iter([1]))


@pytest.mark.parametrize(
    ("seconds", "is_command", "words"),
    [
        (91.0, True, "--budget 2m"),
        (61.0, True, "--budget 90s"),
        (91.0, False, "budget_s=120"),
    ],
)
def test_a_budget_is_told_as_it_is_given(seconds, is_command, words):
    assert budget_words(seconds, is_command=is_command) == words


@pytest.mark.parametrize("target", ["opt.py:build", "opt:build"])
def test_the_file_of_the_function_is_named(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "opt.py").touch()
    hint = input_hint(target)
    assert "`quickfit bench opt.py:FUNCTION`" in hint
    assert "train.py" not in hint


@pytest.mark.parametrize("target", ["installed.module:build", print, object()])
def test_without_a_file_it_is_measured_in_python(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hint = input_hint(target)
    assert "`quickfit.data.measure(dataset)`" in hint
    assert "bench" not in hint
