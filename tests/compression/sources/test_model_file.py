"""Models from files: loaded without running code from them."""

import os
import sys
import warnings
import zipfile

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


def with_config(tmp_path, before, after):
    """Return the file of a model whose configuration somebody has changed."""
    import keras

    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, name="alpha")])
    good, odd = saved(model, tmp_path / "good.keras"), tmp_path / "odd.keras"
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(odd, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, data.replace(before, after) if name == "config.json" else data)
    return odd


def test_a_layer_name_that_tensorflow_does_not_allow_is_said(tmp_path):
    odd = with_config(tmp_path, b'"alpha"', rb'"al\u001b[31mpha"')
    with pytest.raises(ModelError) as caught:
        loaded(odd)
    assert r"Received: 'al\x1b[31mpha'" in str(caught.value)
    assert "Rename the layer" in str(caught.value)


def test_a_layer_that_no_memory_holds_is_said(tmp_path):
    odd = with_config(tmp_path, b'"units": 16', f'"units": {2**40}'.encode())
    with pytest.raises(ModelError, match="Keras cannot load it"):
        loaded(odd)


def test_a_pipe_in_the_place_of_a_model_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "model.keras")
    with pytest.raises(ModelError, match="this cannot be a model file"):
        loaded(tmp_path / "model.keras")
