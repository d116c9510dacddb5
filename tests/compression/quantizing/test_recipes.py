"""Files by the recipes of ai-edge-quantizer."""

import sys

import numpy as np
import pytest

from compression import models
from quickfit.compression.quantizing import exported_by_recipe
from quickfit.compression.quantizing.recipes import RECIPES
from quickfit.errors import ModelError, UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


@pytest.mark.parametrize(
    ("recipe", "kind", "tolerance"),
    [
        ("weights-int4", "float32 with int4 weights", 0.2),
        ("static-int8", "int8", 0.05),
    ],
)
def test_a_recipe_makes_convolutions_small(residual, tmp_path, capfd, recipe, kind, tolerance):
    model, data = residual.model, residual.data
    capfd.readouterr()
    file = exported_by_recipe(model, tmp_path / "small.tflite", recipe, data)
    assert capfd.readouterr() == ("", "")
    assert file.runner().op_counts()["CONV_2D", kind] == 3
    assert file.size_bytes < residual.files["float32"].size_bytes
    wanted = np.asarray(model(data))
    assert np.abs(file.runner()(data) - wanted).mean() < tolerance * wanted.std()


def test_all_recipes_are_there():
    from ai_edge_quantizer import recipe

    assert all(hasattr(recipe, name) for name in RECIPES.values())


def test_a_recipe_that_is_none_is_told(tmp_path):
    with pytest.raises(UsageError, match="recipe='int3': there are dynamic-int8, weights-int8"):
        exported_by_recipe(models.residual(), tmp_path / "x.tflite", "int3")


def test_ranges_need_samples(tmp_path):
    with pytest.raises(UsageError, match="recipe='static-int8' needs samples"):
        exported_by_recipe(models.residual(), tmp_path / "x.tflite", "static-int8")


def test_without_the_package_a_command_installs_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_quantizer", None)
    with pytest.raises(ModelError, match=r"pip install 'quickfit\[litert\]'"):
        exported_by_recipe(models.residual(), tmp_path / "x.tflite", "weights-int8")
