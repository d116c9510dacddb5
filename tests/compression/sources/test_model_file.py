"""Models from files: loaded without running code from them."""

import sys
import warnings

import numpy as np
import pytest

from compression import models
from quickfit.compression.sources.model_file import loaded
from quickfit.errors import ModelError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]

LAYERS = """
import keras

class Halved(keras.layers.Layer):
    def call(self, x):
        return x / 2

def half_loss(wanted, found):
    return (wanted - found) ** 2 / 2
"""


def saved(model, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old formats, and lambdas
        model.save(path)
    return path


@pytest.fixture
def layers_file(tmp_path, monkeypatch):
    """Return a file of the user's with a layer in it, which is not imported afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    path = tmp_path / "halving_layers.py"
    path.write_text(LAYERS)
    yield path
    sys.modules.pop("halving_layers", None)


@pytest.fixture
def custom_model(layers_file):
    import keras

    scope = {"__name__": "somewhere"}
    exec(layers_file.read_text(), scope)
    inputs = keras.Input((4,))
    outputs = keras.layers.Dense(2)(scope["Halved"]()(inputs))
    return keras.Model(inputs, outputs), scope["half_loss"]


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_a_model_is_loaded_as_it_was(tmp_path, suffix):
    model = models.residual()
    found = loaded(saved(model, tmp_path / f"model.{suffix}"))
    data = models.data_for(model)
    np.testing.assert_array_equal(found.model(data), model(data))
    assert not found.notes


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_code_in_a_file_does_not_run_unless_it_may(tmp_path, suffix):
    import keras

    layer = keras.layers.Lambda(lambda x: x * 2, output_shape=(4,), name="double")
    model = keras.Sequential([keras.Input((4,)), layer, keras.layers.Dense(2)])
    path = saved(model, tmp_path / f"model.{suffix}")
    with pytest.raises(ModelError, match=r"it holds Python code.*double.*\n.*\n.*--allow-code"):
        loaded(path)
    assert len(loaded(path, allows_code=True).model.layers) == 2


def test_layers_of_the_users_are_named_and_can_be_imported(tmp_path, custom_model, layers_file):
    path = saved(custom_model[0], tmp_path / "model.keras")
    with pytest.raises(
        ModelError, match=r"not of Keras: somewhere\.Halved\.\n.*\n.*--import somewhere"
    ):
        loaded(path)
    found = loaded(path, modules=[str(layers_file)])
    assert found.model.output_shape == (None, 2)


def test_modules_without_the_layers_are_said(tmp_path, custom_model):
    other = tmp_path / "other_layers.py"
    other.write_text("import keras\n")
    path = saved(custom_model[0], tmp_path / "model.keras")
    with pytest.raises(ModelError, match="The modules that were imported do not define them"):
        loaded(path, modules=[str(other)])


def test_a_loss_of_the_users_is_left_out_with_a_note(tmp_path):
    import keras

    def own_loss(wanted, found):
        return found

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile("adam", own_loss)
    found = loaded(saved(model, tmp_path / "model.keras"))
    assert not found.model.compiled
    assert "without its training settings: own_loss is not of Keras" in found.notes[0]


def test_a_file_that_keras_cannot_load_is_said(tmp_path):
    import zipfile

    path = saved(models.flattened(), tmp_path / "model.keras")
    with zipfile.ZipFile(path) as archive:
        config = archive.read("config.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", config)  # and no weights
    with pytest.raises(ModelError, match="Keras cannot load it"):
        loaded(path)
