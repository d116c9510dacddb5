"""Keras models as `.tflite` files."""

import os

import numpy as np
import pytest

from compression import models
from compression.quantizing import nets
from quickfit.compression.quantizing import exported, keras_quantized
from quickfit.compression.quantizing.operators import PLUMBING
from quickfit.errors import ModelError, UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def off(file, model, data):
    """Return the largest difference to Keras, in units of the spread of its results."""
    wanted = models.results(model, data, training=False)[0]
    return np.abs(file.runner()(data) - wanted).max() / wanted.std()


def computing(file):
    """Return the types of the operators that compute, by name."""
    counts = file.runner().op_counts()
    return {name: kind for name, kind in counts if name not in PLUMBING}


def test_a_float_file_gives_the_results_of_keras(residual):
    file = residual.files["float32"]
    assert off(file, residual.model, residual.data) < 1e-5
    assert set(computing(file).values()) == {"float32"}
    assert file.size_bytes == os.path.getsize(file.path)
    assert (file.kind, file.inputs, file.notes) == ("float32", ("image",), ())


def test_a_float16_file_has_weights_of_half_the_size(residual):
    file = residual.files["float16"]
    assert off(file, residual.model, residual.data) < 0.01
    assert computing(file)["CONV_2D"] == "float32 with float16 weights"


@pytest.mark.parametrize("kind", ["int8", "int8-full"])
def test_an_int8_file_computes_in_nothing_but_int8(residual, kind):
    file = residual.files[kind]
    assert set(computing(file).values()) == {"int8"}
    assert {"CONV_2D", "ADD", "MEAN", "FULLY_CONNECTED"} <= set(computing(file))
    assert off(file, residual.model, residual.data) < 0.15
    assert file.notes == ()


def test_only_the_full_kind_takes_integers(residual):
    counts = {kind: one.runner().op_counts() for kind, one in residual.files.items()}
    assert counts["int8"]["QUANTIZE", "int8"] == 1
    assert not counts["int8-full"]["QUANTIZE", "int8"]


def test_the_model_is_as_it_was(residual):
    assert nets.state_of(residual.model) == residual.before


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


def test_a_recurrent_model_runs_one_by_one_and_a_note_says_so(tmp_path):
    model = nets.recurrent()
    data = models.data_for(model, 3)
    file = exported(model, tmp_path / "lstm.tflite", "dynamic")
    assert file.notes[0].startswith("The file takes one sample at a time")
    np.testing.assert_allclose(file.runner()(data), model(data), atol=1e-5)


def test_a_model_in_half_precision_is_exported_in_float32(tmp_path):
    model = nets.half_precision()
    before, data = nets.state_of(model), models.data_for(model)
    file = exported(model, tmp_path / "half.tflite")
    np.testing.assert_allclose(file.runner()(data), np.asarray(model(data)), atol=0.01)
    assert nets.state_of(model) == before


def test_a_subclassed_model_is_exported_in_float(tmp_path):
    model, data = models.subclassed(), np.ones((2, 3), "float32")
    file = exported(model, tmp_path / "own.tflite")
    np.testing.assert_allclose(file.runner()(data), np.asarray(model(data)), atol=1e-5)


def test_a_model_without_a_form_is_told_and_the_old_file_stays(tmp_path):
    (tmp_path / "odd.tflite").write_bytes(b"the old one")
    with pytest.raises(ModelError, match=r"'odd' cannot be converted .* no operator for Digamma"):
        exported(nets.without_a_form(), tmp_path / "odd.tflite")
    assert os.listdir(tmp_path) == ["odd.tflite"]
    assert (tmp_path / "odd.tflite").read_bytes() == b"the old one"


def test_loops_are_told_before_tensorflow_crashes_on_them(tmp_path):
    model = nets.recurrent()
    with pytest.raises(ModelError, match=r"has loops or branches .in lstm.*kind='dynamic'"):
        exported(model, tmp_path / "lstm.tflite", "int8", models.data_for(model))


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


def test_what_is_no_model_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"keras.models.load_model\(path\)"):
        exported("model.keras", tmp_path / "x.tflite")


def test_a_subclassed_model_has_no_int8(tmp_path):
    with pytest.raises(ModelError, match="is subclassed"):
        exported(models.subclassed(), tmp_path / "x.tflite", "int8", np.ones((2, 3)))


def test_a_model_in_the_int8_of_keras_is_told_to_stay_there(tmp_path):
    quantised = keras_quantized(models.flattened()).model
    with pytest.raises(ModelError, match="Export the float model it was made from"):
        exported(quantised, tmp_path / "x.tflite")
