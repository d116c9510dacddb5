"""Models from files: loaded without running code from them."""

import json
import os
import sys
import warnings
import zipfile

import numpy as np
import pytest

from compression import models
from quickfit.compression import model_file
from quickfit.compression.model_file import load_model_file, read_contents
from quickfit.errors import ModelError

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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_a_model_is_loaded_as_it_was(tmp_path, suffix):
    model = models.residual()
    found = load_model_file(saved(model, tmp_path / f"model.{suffix}"))
    data = models.data_for(model)
    np.testing.assert_array_equal(found.model(data), model(data))
    assert not found.notes


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_code_in_a_file_does_not_run_unless_it_may(tmp_path, suffix):
    import keras

    layer = keras.layers.Lambda(lambda x: x * 2, output_shape=(4,), name="double")
    model = keras.Sequential([keras.Input((4,)), layer, keras.layers.Dense(2)])
    path = saved(model, tmp_path / f"model.{suffix}")
    with pytest.raises(ModelError, match=r"it holds Python code.*double.*\n.*\n.*--allow-code"):
        load_model_file(path)
    assert len(load_model_file(path, allows_code=True).model.layers) == 2


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_layers_of_the_users_are_named_and_can_be_imported(tmp_path, custom_model, layers_file):
    path = saved(custom_model[0], tmp_path / "model.keras")
    with pytest.raises(
        ModelError, match=r"not of Keras: somewhere\.Halved\.\n.*\n.*--import somewhere"
    ):
        load_model_file(path)
    found = load_model_file(path, modules=[str(layers_file)])
    assert found.model.output_shape == (None, 2)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_modules_without_the_layers_are_said(tmp_path, custom_model):
    other = tmp_path / "other_layers.py"
    other.write_text("import keras\n")
    path = saved(custom_model[0], tmp_path / "model.keras")
    with pytest.raises(ModelError, match="The modules that were imported do not define them"):
        load_model_file(path, modules=[str(other)])


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_loss_of_the_users_is_left_out_with_a_note(tmp_path):
    import keras

    def own_loss(wanted, found):
        return found

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile("adam", own_loss)
    found = load_model_file(saved(model, tmp_path / "model.keras"))
    assert not found.model.compiled
    assert "without its training settings: own_loss is not of Keras" in found.notes[0]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_file_that_keras_cannot_load_is_said(tmp_path):
    import zipfile

    path = saved(models.flattened(), tmp_path / "model.keras")
    with zipfile.ZipFile(path) as archive:
        config = archive.read("config.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", config)  # and no weights
    with pytest.raises(ModelError, match="Keras cannot load it"):
        load_model_file(path)


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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_layer_name_that_tensorflow_does_not_allow_is_said(tmp_path):
    odd = with_config(tmp_path, b'"alpha"', rb'"al\u001b[31mpha"')
    with pytest.raises(ModelError) as caught:
        load_model_file(odd)
    assert r"Received: 'al\x1b[31mpha'" in str(caught.value)
    assert "Rename the layer" in str(caught.value)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_layer_that_no_memory_holds_is_said(tmp_path):
    odd = with_config(tmp_path, b'"units": 16', f'"units": {2**40}'.encode())
    with pytest.raises(ModelError, match="Keras cannot load it"):
        load_model_file(odd)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_pipe_in_the_place_of_a_model_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "model.keras")
    with pytest.raises(ModelError, match="this cannot be a model file"):
        load_model_file(tmp_path / "model.keras")


def layer(kind, module="keras.layers", **config):
    return {"class_name": kind, "module": module, "config": config, "registered_name": None}


def keras_file(path, *layers, **other):
    model = layer("Functional", "keras.src.models.functional", layers=list(layers)) | other
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(model))
    return path


def test_layers_of_keras_are_nothing_to_tell(tmp_path):
    found = read_contents(
        keras_file(
            tmp_path / "m.keras",
            layer("Dense", kernel_initializer=layer("Zeros", "keras.initializers")),
            {"class_name": "__keras_tensor__", "config": {}},
        )
    )
    assert (found.lambdas, found.custom, found.custom_training) == ((), (), ())


def test_code_in_the_file_is_found(tmp_path):
    code = {"class_name": "__lambda__", "config": {"value": "4wE="}}
    path = keras_file(tmp_path / "m.keras", layer("Lambda", name="double", function=code))
    assert "double" in read_contents(path).lambdas
    alone = keras_file(tmp_path / "n.keras", layer("Dense", activation=code))
    assert read_contents(alone).lambdas == ("a lambda function",)


@pytest.mark.parametrize(
    ("item", "name"),
    [
        (layer("Gate", None) | {"registered_name": "my>Gate"}, "my>Gate"),
        (layer("Gate", None) | {"registered_name": "Gate"}, "Gate"),
        (layer("Gate", "my.layers"), "my.layers.Gate"),
        (layer("system", "os"), "os.system"),
        (layer("get_file", "keras.utils"), "keras.utils.get_file"),
        (
            {"class_name": "function", "module": "builtins", "config": "swish2"},
            "swish2",
        ),
    ],
)
def test_what_is_not_of_keras_is_named(tmp_path, item, name):
    assert read_contents(keras_file(tmp_path / "m.keras", item)).custom == (name,)


def test_what_only_its_training_needs_is_told_apart(tmp_path):
    loss = {"class_name": "function", "module": "builtins", "config": "my_loss"}
    found = read_contents(keras_file(tmp_path / "m.keras", compile_config={"loss": loss}))
    assert (found.custom, found.custom_training) == ((), ("my_loss",))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file is empty"),
        (b"hello", "this is not a Keras model"),
        (b"\x80\x04K\x01.", "this is not a Keras model (found: a pickle)"),
        (b"\x1c\x00\x00\x00TFL3\x00", "this is a LiteRT file, which cannot be taken apart again"),
        (b"PK\x03\x04 cut off", "the file is damaged or not complete"),
        (b"\x89HDF\r\n\x1a\n cut off", "the file is damaged or not complete"),
    ],
)
def test_what_is_no_model_is_said(tmp_path, content, said):
    path = tmp_path / "model.keras"
    path.write_bytes(content)
    with pytest.raises(ModelError) as error:
        read_contents(path)
    assert str(error.value).startswith(f"{path}: ")
    assert said in str(error.value)


def test_a_file_that_ends_early_is_said(tmp_path):
    path = keras_file(tmp_path / "m.keras", layer("Dense"))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ModelError, match="damaged or not complete"):
        read_contents(path)


def test_other_archives_are_told_apart(tmp_path):
    path = tmp_path / "photos.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("cat.txt", "cat")
    with pytest.raises(ModelError, match=r"a zip archive without config\.json"):
        read_contents(path)


def test_deep_configurations_end_in_an_error(tmp_path):
    path = tmp_path / "m.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "[" * 100_000 + "]" * 100_000)
    with pytest.raises(ModelError, match="nested too deeply"):
        read_contents(path)


def test_missing_files_and_folders_are_said(tmp_path):
    keras_file(tmp_path / "other.keras")
    with pytest.raises(ModelError, match=r"there is no such file\.\nModels there: other\.keras"):
        read_contents(tmp_path / "model.keras")
    with pytest.raises(ModelError, match="this is a folder, not a model file"):
        read_contents(tmp_path)
    (tmp_path / "saved_model.pb").touch()
    with pytest.raises(ModelError, match=r"a SavedModel, which no longer knows its layers"):
        read_contents(tmp_path)


def test_weights_alone_are_no_model(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "model.weights.h5"
    with h5py.File(path, "w") as file:
        file["kernel"] = [1.0]
    with pytest.raises(ModelError, match="this file has weights only"):
        read_contents(path)


def test_a_file_that_hdf5_breaks_on_is_refused_and_harms_nothing_here(tmp_path, monkeypatch):
    path = tmp_path / "m.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n")
    monkeypatch.setattr(model_file, "_HDF5_READER", "import os; os.abort()")
    with pytest.raises(ModelError, match="HDF5 does not come to an end with it"):
        read_contents(path)


def test_an_archive_that_asks_for_gigabytes_is_refused(tmp_path):
    path = keras_file(tmp_path / "m.keras")
    content = path.read_bytes()
    at = content.index(b"PK\x01\x02")
    path.write_bytes(content[: at + 20] + b"\xff\xff\xff\x7f" + content[at + 24 :])
    with pytest.raises(ModelError, match="larger than any model's"):
        read_contents(path)
