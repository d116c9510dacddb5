"""Where the model and the data come from."""

import pytest

from quickfit.errors import UsageError
from quickfit.tuning.trials.recipes import Kind, by_function, by_name


@pytest.mark.parametrize("name", ["train:build", "pkg.train:build", "train:Maker.build"])
def test_a_name_is_a_recipe(name, tmp_path):
    recipe = by_name(name, cwd=tmp_path, batch_size=8)
    assert (recipe.kind, recipe.name, recipe.cwd) == (Kind.NAME, name, tmp_path)
    assert recipe.batch_size == 8
    assert recipe.keeps_input


@pytest.mark.parametrize(
    "name", ["train", "train.py", "train:", ":build", "a b:c", "train.py:3", ""]
)
def test_something_else_than_a_name_is_refused(name, tmp_path):
    with pytest.raises(UsageError, match=r"does not name a function\. Write it as module:function"):
        by_name(name, cwd=tmp_path)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"gone is no folder, so train:build cannot be looked for"):
        by_name("train:build", cwd=tmp_path / "gone")


def test_a_function_is_a_recipe():
    def build():
        return None

    recipe = by_function(build)
    assert recipe.kind is Kind.FUNCTION
    assert recipe.name.endswith("build")
    assert recipe.payload
