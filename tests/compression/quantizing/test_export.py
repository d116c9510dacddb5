"""Keras models as `.tflite` files."""

import os
import sys

import numpy as np
import pytest

from compression import models
from compression.quantizing import nets
from compression.quantizing.tiny_files import Tensor, sum_of
from quickfit.compression.litert import PLUMBING
from quickfit.compression.quantizing import exported, exported_by_recipe, keras_quantized
from quickfit.compression.quantizing.export import (
    FILE_KINDS,
    RECIPES,
    check_target,
    file_kind,
    operators_of,
    remarks_on,
    write_whole,
)
from quickfit.errors import ModelError, UsageError


def off(file, model, data):
    """Return the largest difference to Keras, in units of the spread of its results."""
    wanted = models.results(model, data, training=False)[0]
    return np.abs(file.runner()(data) - wanted).max() / wanted.std()


def computing(file):
    """Return the types of the operators that compute, by name."""
    counts = file.runner().op_counts()
    return {name: kind for name, kind in counts if name not in PLUMBING}


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_float_file_gives_the_results_of_keras(residual):
    file = residual.files["float32"]
    assert off(file, residual.model, residual.data) < 1e-5
    assert set(computing(file).values()) == {"float32"}
    assert file.size_bytes == os.path.getsize(file.path)
    assert (file.kind, file.inputs, file.notes) == ("float32", ("image",), ())


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_float16_file_has_weights_of_half_the_size(residual):
    file = residual.files["float16"]
    assert off(file, residual.model, residual.data) < 0.01
    assert computing(file)["CONV_2D"] == "float32 with float16 weights"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("kind", ["int8", "int8-full"])
def test_an_int8_file_computes_in_nothing_but_int8(residual, kind):
    file = residual.files[kind]
    assert set(computing(file).values()) == {"int8"}
    assert {"CONV_2D", "ADD", "MEAN", "FULLY_CONNECTED"} <= set(computing(file))
    assert off(file, residual.model, residual.data) < 0.15
    assert file.notes == ()


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_only_the_full_kind_takes_integers(residual):
    counts = {kind: one.runner().op_counts() for kind, one in residual.files.items()}
    assert counts["int8"]["QUANTIZE", "int8"] == 1
    assert not counts["int8-full"]["QUANTIZE", "int8"]


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_model_is_as_it_was(residual):
    assert nets.state_of(residual.model) == residual.before


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_dicts_go_in_and_come_out_and_nothing_is_printed(tmp_path, capfd):
    model = models.named()
    data = models.data_for(model)
    capfd.readouterr()
    file = exported(model, tmp_path / "named.tflite")
    results = file.runner()(data)
    assert capfd.readouterr() == ("", "")
    assert sorted(results) == ["age", "kind"]
    for name, wanted in model(data).items():
        np.testing.assert_allclose(results[name], wanted, atol=1e-5)
    as_list = file.runner()([data[name] for name in file.inputs])
    np.testing.assert_array_equal(as_list["age"], results["age"])


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_recurrent_model_runs_one_by_one_and_a_note_says_so(tmp_path):
    model = nets.recurrent()
    data = models.data_for(model, 3)
    file = exported(model, tmp_path / "lstm.tflite", "dynamic")
    assert file.notes[0].startswith("The file takes one sample at a time")
    np.testing.assert_allclose(file.runner()(data), model(data), atol=1e-5)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_in_half_precision_is_exported_in_float32(tmp_path):
    model = nets.half_precision()
    before, data = nets.state_of(model), models.data_for(model)
    file = exported(model, tmp_path / "half.tflite")
    np.testing.assert_allclose(file.runner()(data), np.asarray(model(data)), atol=0.01)
    assert nets.state_of(model) == before


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_subclassed_model_is_exported_in_float(tmp_path):
    model, data = models.subclassed(), np.ones((2, 3), "float32")
    file = exported(model, tmp_path / "own.tflite")
    np.testing.assert_allclose(file.runner()(data), np.asarray(model(data)), atol=1e-5)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_without_a_form_is_told_and_the_old_file_stays(tmp_path):
    (tmp_path / "odd.tflite").write_bytes(b"the old one")
    with pytest.raises(ModelError, match=r"'odd' cannot be converted .* no operator for Digamma"):
        exported(nets.without_a_form(), tmp_path / "odd.tflite")
    assert os.listdir(tmp_path) == ["odd.tflite"]
    assert (tmp_path / "odd.tflite").read_bytes() == b"the old one"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_loops_are_told_before_tensorflow_crashes_on_them(tmp_path):
    model = nets.recurrent()
    with pytest.raises(ModelError, match=r"has loops or branches .in lstm.*kind='dynamic'"):
        exported(model, tmp_path / "lstm.tflite", "int8", models.data_for(model))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(("int7",), "kind='int7': there are float32", id="kind"),
        pytest.param(("int8",), "kind='int8' needs samples .* give calibration=", id="no samples"),
        pytest.param(("int8", np.zeros((4, 5))), "do not fit the model", id="shape"),
        pytest.param(("int8", np.full((4, 8, 8, 3), np.nan)), "4 of 4 samples .* NaN", id="nan"),
    ],
)
def test_what_is_wrong_with_the_call_is_told(tmp_path, options, message):
    with pytest.raises(UsageError, match=message):
        exported(models.residual(), tmp_path / "x.tflite", *options)
    assert os.listdir(tmp_path) == []


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_what_is_no_model_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"keras.models.load_model\(path\)"):
        exported("model.keras", tmp_path / "x.tflite")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_subclassed_model_has_no_int8(tmp_path):
    with pytest.raises(ModelError, match="is subclassed"):
        exported(models.subclassed(), tmp_path / "x.tflite", "int8", np.ones((2, 3)))


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_in_the_int8_of_keras_is_told_to_stay_there(tmp_path):
    quantised = keras_quantized(models.flattened()).model
    with pytest.raises(ModelError, match="Export the float model it was made from"):
        exported(quantised, tmp_path / "x.tflite")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_all_recipes_are_there():
    from ai_edge_quantizer import recipe

    assert all(hasattr(recipe, name) for name in RECIPES.values())


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_recipe_that_is_none_is_told(tmp_path):
    with pytest.raises(UsageError, match="recipe='int3': there are dynamic-int8, weights-int8"):
        exported_by_recipe(models.residual(), tmp_path / "x.tflite", "int3")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_ranges_need_samples(tmp_path):
    with pytest.raises(UsageError, match="recipe='static-int8' needs samples"):
        exported_by_recipe(models.residual(), tmp_path / "x.tflite", "static-int8")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_without_the_package_a_command_installs_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_quantizer", None)
    with pytest.raises(ModelError, match=r"pip install 'quickfit\[litert\]'"):
        exported_by_recipe(models.residual(), tmp_path / "x.tflite", "weights-int8")


def test_only_integers_of_activations_need_samples():
    assert [name for name, kind in FILE_KINDS.items() if kind.needs_calibration] == [
        "int8",
        "int8-full",
    ]


def test_an_unknown_kind_is_told_with_those_there_are():
    with pytest.raises(UsageError, match="kind='int4': there are float32, float16, dynamic, int8"):
        file_kind("int4")


def test_a_file_of_nothing_but_int8_is_made_of_other_operators():
    assert {operators_of(name) for name in FILE_KINDS} == {
        "TFLITE_BUILTINS",
        "TFLITE_BUILTINS_INT8",
    }


def test_a_new_file_has_the_permissions_of_new_files(tmp_path):
    (tmp_path / "other").touch()
    write_whole(tmp_path / "model.tflite", b"content")
    assert (tmp_path / "model.tflite").read_bytes() == b"content"
    modes = {(tmp_path / name).stat().st_mode for name in ("other", "model.tflite")}
    assert len(modes) == 1


def test_a_file_in_its_place_keeps_its_permissions_and_a_link_stays_one(tmp_path):
    real, link = tmp_path / "real.tflite", tmp_path / "link.tflite"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.tflite", "real.tflite"]


def test_a_folder_in_its_place_is_told_and_nothing_is_left_over(tmp_path):
    (tmp_path / "sub").mkdir()
    with pytest.raises(UsageError, match=r"this is a folder\. Give the name of a file in it"):
        check_target(tmp_path / "sub")
    with pytest.raises(UsageError, match="cannot be written"):
        write_whole(tmp_path / "sub", b"content")
    assert os.listdir(tmp_path) == ["sub"]


def test_a_missing_folder_is_told_with_the_command_that_makes_it(tmp_path):
    with pytest.raises(UsageError, match=r"mkdir -p .*none"):
        check_target(tmp_path / "none" / "model.tflite")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to_is_told(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="nothing may be written to the folder"):
        check_target(tmp_path / "model.tflite")


def test_a_place_that_takes_no_files_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"cannot be written \(No such file or directory\)"):
        write_whole(tmp_path / "gone" / "model.tflite", b"content")


def test_operators_of_an_int8_file_that_stayed_in_float_are_told():
    assert remarks_on(sum_of(Tensor("x")), "int8") == ("These operators stayed in float: ADD.",)
    assert remarks_on(sum_of(Tensor("x", "INT8", scale=0.5)), "int8-full") == ()


def test_a_float_file_is_what_was_asked_for():
    assert remarks_on(sum_of(Tensor("x")), "float32") == ()
