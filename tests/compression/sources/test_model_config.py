"""What a model file says is in it, read without running any of it."""

import json
import zipfile

import pytest

from quickfit.compression.sources import model_config
from quickfit.compression.sources.model_config import contents_of
from quickfit.errors import ModelError


def layer(kind, module="keras.layers", **config):
    return {"class_name": kind, "module": module, "config": config, "registered_name": None}


def keras_file(path, *layers, **other):
    model = layer("Functional", "keras.src.models.functional", layers=list(layers)) | other
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(model))
    return path


def test_layers_of_keras_are_nothing_to_tell(tmp_path):
    found = contents_of(
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
    assert "double" in contents_of(path).lambdas
    alone = keras_file(tmp_path / "n.keras", layer("Dense", activation=code))
    assert contents_of(alone).lambdas == ("a lambda function",)


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
    assert contents_of(keras_file(tmp_path / "m.keras", item)).custom == (name,)


def test_what_only_its_training_needs_is_told_apart(tmp_path):
    loss = {"class_name": "function", "module": "builtins", "config": "my_loss"}
    found = contents_of(keras_file(tmp_path / "m.keras", compile_config={"loss": loss}))
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
        contents_of(path)
    assert str(error.value).startswith(f"{path}: ")
    assert said in str(error.value)


def test_a_file_that_ends_early_is_said(tmp_path):
    path = keras_file(tmp_path / "m.keras", layer("Dense"))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ModelError, match="damaged or not complete"):
        contents_of(path)


def test_other_archives_are_told_apart(tmp_path):
    path = tmp_path / "photos.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("cat.txt", "cat")
    with pytest.raises(ModelError, match=r"a zip archive without config\.json"):
        contents_of(path)


def test_deep_configurations_end_in_an_error(tmp_path):
    path = tmp_path / "m.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "[" * 100_000 + "]" * 100_000)
    with pytest.raises(ModelError, match="nested too deeply"):
        contents_of(path)


def test_missing_files_and_folders_are_said(tmp_path):
    keras_file(tmp_path / "other.keras")
    with pytest.raises(ModelError, match=r"there is no such file\.\nModels there: other\.keras"):
        contents_of(tmp_path / "model.keras")
    with pytest.raises(ModelError, match="this is a folder, not a model file"):
        contents_of(tmp_path)
    (tmp_path / "saved_model.pb").touch()
    with pytest.raises(ModelError, match=r"a SavedModel, which no longer knows its layers"):
        contents_of(tmp_path)


def test_weights_alone_are_no_model(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "model.weights.h5"
    with h5py.File(path, "w") as file:
        file["kernel"] = [1.0]
    with pytest.raises(ModelError, match="this file has weights only"):
        contents_of(path)


def test_a_file_that_hdf5_breaks_on_is_refused_and_harms_nothing_here(tmp_path, monkeypatch):
    path = tmp_path / "m.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n")
    monkeypatch.setattr(model_config, "_HDF5_READER", "import os; os.abort()")
    with pytest.raises(ModelError, match="HDF5 does not come to an end with it"):
        contents_of(path)


def test_an_archive_that_asks_for_gigabytes_is_refused(tmp_path):
    path = keras_file(tmp_path / "m.keras")
    content = path.read_bytes()
    at = content.index(b"PK\x01\x02")
    path.write_bytes(content[: at + 20] + b"\xff\xff\xff\x7f" + content[at + 24 :])
    with pytest.raises(ModelError, match="larger than any model's"):
        contents_of(path)
