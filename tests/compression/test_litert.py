"""Running `.tflite` files: types, batches, names, and files that are none."""

import subprocess
import sys

import numpy as np
import pytest

from compression.quantizing.tiny_files import Tensor, sum_of
from quickfit.compression.litert import (
    PLUMBING,
    Runner,
    TensorSlot,
    as_tensor,
    as_values,
    check_shape,
    content_of,
    interpreter_of,
    op_counts,
    shape_text,
    slots_of,
    tensor_slot,
)
from quickfit.errors import ModelError, UsageError

X = np.arange(12, dtype="float32").reshape(4, 3)
INT8 = {"kind": "INT8", "scale": 0.5, "zero": -3}


def test_a_batch_of_any_size_goes_in_and_comes_out():
    run = Runner(sum_of(Tensor("x")))
    for count in (4, 1, 3, 4):
        np.testing.assert_array_equal(run(X[:count]), 2 * X[:count])


def test_a_file_runs_as_its_content_does(tmp_path):
    content = sum_of(Tensor("x"))
    file = tmp_path / "sum.tflite"
    file.write_bytes(content)
    assert Runner(file).size_bytes == Runner(str(file)).size_bytes == len(content)
    np.testing.assert_array_equal(Runner(file, threads=2)(X), 2 * X)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64", "uint8", "bool"])
def test_numbers_of_every_type_are_taken(dtype):
    values = X.astype(dtype)
    np.testing.assert_array_equal(Runner(sum_of(Tensor("x")))(values), 2 * values.astype("float32"))


def test_plain_lists_are_a_batch():
    run = Runner(sum_of(Tensor("x")))
    np.testing.assert_array_equal(run([[1, 2, 3]]), [[2, 4, 6]])
    np.testing.assert_array_equal(run([X]), 2 * X)


def test_real_numbers_go_through_the_steps_of_an_int8_file():
    run = Runner(sum_of(Tensor("x", **INT8), output=Tensor("output_0", "INT8", scale=1.0)))
    np.testing.assert_array_equal(run(X), 2 * X)
    assert run(X).dtype == np.float32


def test_integers_of_the_type_of_the_file_are_its_own_steps():
    run = Runner(sum_of(Tensor("x", **INT8), output=Tensor("output_0", "INT8", scale=1.0)))
    steps = np.full((1, 3), 7, "int8")  # (7 + 3) steps of 0.5
    np.testing.assert_array_equal(run(steps), np.full((1, 3), 10.0))


def test_a_number_beyond_the_steps_becomes_the_last_one():
    run = Runner(sum_of(Tensor("x", **INT8), output=Tensor("output_0", "INT8", scale=2.0)))
    np.testing.assert_array_equal(run(np.full((1, 3), 1e6)), np.full((1, 3), 130.0))


def test_several_inputs_are_given_by_name_or_in_a_known_order():
    content = sum_of(Tensor("b"), Tensor("a"))
    np.testing.assert_array_equal(Runner(content)({"a": X, "b": 1 + X}), 2 * X + 1)
    ordered = Runner(content, inputs=["b", "a"])
    assert ordered.input_names == ("b", "a")
    np.testing.assert_array_equal(ordered([X, 1 + X]), 2 * X + 1)


def test_names_of_the_keras_model_fit_those_of_the_file():
    run = Runner(sum_of(Tensor("my_image"), Tensor("b")))
    np.testing.assert_array_equal(run({"my image": X, "b": X}), 2 * X)


def test_a_list_of_inputs_whose_order_nobody_knows_is_refused():
    run = Runner(sum_of(Tensor("b"), Tensor("a")))
    with pytest.raises(UsageError, match=r"a list of 2\. Give its inputs by name: run\(\{'"):
        run([X, X])


def test_names_that_the_file_does_not_have_are_told():
    run = Runner(sum_of(Tensor("b"), Tensor("a")))
    with pytest.raises(UsageError, match=r"given the names \['b', 'c'\]"):
        run({"b": X, "c": X})
    with pytest.raises(UsageError, match=r"inputs=\['b', 'x'\]: these bytes has the inputs"):
        Runner(sum_of(Tensor("b"), Tensor("a")), inputs=["b", "x"])


def test_a_dict_of_outputs_stays_one():
    run = Runner(sum_of(Tensor("x"), output=Tensor("kind")))
    assert run.output_names == ("kind",)
    np.testing.assert_array_equal(run(X)["kind"], 2 * X)


def test_a_file_for_one_sample_takes_a_batch_in_parts():
    np.testing.assert_array_equal(Runner(sum_of(Tensor("x", shape=(1, 3))))(X), 2 * X)


def test_the_last_part_of_a_batch_is_filled_up_and_cut_again():
    run = Runner(sum_of(Tensor("x", shape=(3, 3))))
    np.testing.assert_array_equal(run(X), 2 * X)
    np.testing.assert_array_equal(run(X[:2]), 2 * X[:2])


def test_a_file_without_a_signature_runs():
    run = Runner(sum_of(Tensor("x"), signatures=()))
    np.testing.assert_array_equal(run(X), 2 * X)


def test_operators_are_counted_with_their_types():
    assert Runner(sum_of(Tensor("x"))).op_counts() == {("ADD", "float32"): 1}
    assert Runner(sum_of(Tensor("x", **INT8))).op_counts() == {("ADD", "int8"): 1}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(X[0], r"has the shape \(3,\); .*takes \(any, 3\).*x\[None\]", id="no batch"),
        pytest.param(X[:, :2], r"has the shape \(4, 2\); the model takes \(any, 3\)", id="size"),
        pytest.param(X[:0], "There is nothing in it", id="empty"),
        pytest.param(np.array([["a", "b", "c"]]), "which are no numbers", id="text"),
        pytest.param(None, "which are no numbers", id="nothing"),
    ],
)
def test_an_input_that_does_not_fit_is_refused(given, message):
    with pytest.raises(UsageError, match=message):
        Runner(sum_of(Tensor("x")))(given)


def test_batches_of_different_sizes_are_refused():
    with pytest.raises(UsageError, match=r"different sizes: \{'a': 2, 'b': 4\}"):
        Runner(sum_of(Tensor("a"), Tensor("b")))({"a": X[:2], "b": X})


def test_nan_does_not_become_an_integer():
    with pytest.raises(UsageError, match="NaN or infinity"):
        Runner(sum_of(Tensor("x", **INT8)))(X * np.nan)


def test_fractions_do_not_become_indices():
    run = Runner(sum_of(Tensor("x", "INT32")))
    np.testing.assert_array_equal(run(X), 2 * X)
    with pytest.raises(UsageError, match=r"takes whole numbers \(int32\), and was given float32"):
        run(X + 0.5)
    with pytest.raises(UsageError, match="from 0 to 1099511627776"):
        run(np.array([[0, 1, 2**40]]))


def test_threads_from_one():
    with pytest.raises(UsageError, match="threads=0"):
        Runner(sum_of(Tensor("x")), threads=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "it is empty", id="empty"),
        pytest.param(b"PK\x03\x04" + bytes(20), "a zip file, as .keras files are", id="keras"),
        pytest.param(b"\x89HDF\r\n\x1a\n", "it is HDF5", id="h5"),
        pytest.param(b"hello world", "it begins with b'hello wo'", id="text"),
    ],
)
def test_a_file_of_another_kind_is_told(tmp_path, content, message):
    file = tmp_path / "model.tflite"
    file.write_bytes(content)
    with pytest.raises(ModelError, match=f"not a .tflite file .*{message}"):
        Runner(file)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(ModelError, match="cannot be read \\(No such file"):
        Runner(tmp_path / "none.tflite")


def test_several_models_in_a_file_are_told():
    with pytest.raises(ModelError, match=r"2 signatures \(one, two\)"):
        Runner(sum_of(Tensor("x"), signatures=("one", "two")))


def test_half_a_file_is_told():
    content = sum_of(Tensor("x"))
    for size in range(8, len(content) - 8, 7):
        with pytest.raises(ModelError, match="damaged or not complete"):
            Runner(content[:size])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(b"tensor_x", b"tensor\xff\xfe", id="a name that is no text"),
        pytest.param(b"output_0", b"outpu\xff\xff0", id="an output that is no text"),
        pytest.param(b"serving_default", b"serving_\xffefault", id="a signature that is no text"),
    ],
)
def test_a_damaged_name_is_told(old, new):
    content = sum_of(Tensor("x"))
    assert old in content
    with pytest.raises(ModelError, match=r"damaged or not complete .*utf-8"):
        Runner(content.replace(old, new))


def test_without_the_runtime_a_command_installs_it():
    code = (
        "import sys; sys.modules['ai_edge_litert.interpreter'] = None\n"
        "from quickfit.compression.litert import Runner\n"
        "from quickfit.errors import ModelError\n"
        "try: Runner(b'1234TFL3' + bytes(20))\n"
        "except ModelError as error: print(error)\n"
        "assert 'tensorflow' not in sys.modules and 'keras' not in sys.modules"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'quickfit[litert]'" in said.stdout


def test_nothing_is_printed_while_a_file_is_opened_and_run(capfd):
    Runner(sum_of(Tensor("x")))(X)
    assert capfd.readouterr() == ("", "")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_layer_of_zeros_which_xnnpack_refuses_runs_without_it(tmp_path):
    import keras

    from quickfit.compression.quantizing import exported

    keras.utils.set_random_seed(0)
    dead = keras.layers.Conv2D(
        4, 1, activation="relu", bias_initializer=keras.initializers.Constant(-100)
    )
    layers = [keras.Input((6, 6, 3)), dead, keras.layers.Conv2D(5, 1, activation="sigmoid")]
    model = keras.Sequential(layers)
    x = np.random.default_rng(0).normal(size=(32, 6, 6, 3)).astype("float32")
    run = exported(model, tmp_path / "dead.tflite", "int8", x).runner()
    assert "XNNPACK" in run.notes[0]
    np.testing.assert_allclose(run(x), np.asarray(model(x)), atol=0.01)
    plain = exported(model, tmp_path / "plain.tflite", "float32").runner()
    assert plain.notes == ()


def test_bytes_are_taken_as_they_are():
    content = sum_of(Tensor("x"))
    assert content_of(content, "label") is content
    with pytest.raises(ModelError, match=r"label: not a \.tflite file"):
        content_of(b"something", "label")


def test_a_file_of_open_sizes_is_opened_without_an_input():
    interpreter = interpreter_of(sum_of(Tensor("x", shape=(-1, -1, 3))), 1, "label")
    inputs, outputs = slots_of(interpreter, "label")
    assert inputs["x"].shape == (-1, -1, 3)
    assert list(outputs) == ["output_0"]


def test_an_operator_that_the_runtime_does_not_know_is_told_with_the_command():
    content = sum_of(Tensor("x"), version=99)
    with pytest.raises(
        ModelError, match=r"does not know one of its operators(.|\n)*pip install -U"
    ):
        interpreter_of(content, 1, "label")


def test_operators_of_tensorflow_are_told():
    content = sum_of(Tensor("x"), custom="FlexErf")
    with pytest.raises(ModelError, match="operators of TensorFlow that LiteRT does not have"):
        interpreter_of(content, 1, "label")


def slot(dtype="int8", scale=0.25, zero=4, shape=(-1, 2)):
    return TensorSlot("x", 0, shape, np.dtype(dtype), scale, zero)


@pytest.mark.parametrize(("dtype", "zero"), [("int8", -5), ("uint8", 100), ("int16", 0)])
def test_what_goes_in_comes_back_to_within_half_a_step(dtype, zero):
    values = np.linspace(-2, 2, 8).reshape(4, 2)
    there = as_tensor(values, slot(dtype, 0.25, zero))
    assert there.dtype == dtype
    np.testing.assert_allclose(as_values(there, slot(dtype, 0.25, zero)), values, atol=0.125)


def test_unsigned_bytes_are_real_numbers_for_an_int8_tensor():
    pixels = np.array([[0, 255]], "uint8")
    np.testing.assert_array_equal(as_tensor(pixels, slot(scale=1.0, zero=-128)), [[-128, 127]])


def test_integers_without_a_scale_are_as_they_are():
    indices = slot("int32", 0.0, 0)
    assert not indices.is_quantised
    np.testing.assert_array_equal(as_values(as_tensor([[1.0, 2.0]], indices), indices), [[1, 2]])


def test_bfloat16_is_a_number():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = np.ones((1, 2), ml_dtypes.bfloat16)
    np.testing.assert_array_equal(as_tensor(values, slot("float32", 0.0, 0)), [[1, 1]])


def test_a_negative_index_for_an_unsigned_tensor_is_refused():
    with pytest.raises(UsageError, match=r"takes whole numbers \(uint8\).* from -1 to 2"):
        as_tensor(np.array([[-1, 2]]), slot("uint8", 0.0, 0))


def test_a_slot_is_read_from_what_the_interpreter_tells():
    details = {
        "index": 3,
        "shape": np.array([1, 2]),
        "shape_signature": np.array([-1, 2]),
        "dtype": np.int8,
        "quantization": (0.5, 7),
    }
    assert tensor_slot("x", details) == TensorSlot("x", 3, (-1, 2), np.dtype("int8"), 0.5, 7)
    assert tensor_slot("x", {**details, "shape_signature": np.array([])}).shape == (1, 2)


def test_open_sizes_take_any():
    check_shape((3, 9, 7), slot(shape=(-1, -1, 7)))
    with pytest.raises(UsageError, match=r"\(3, 9, 8\); the model takes \(any, any, 7\)"):
        check_shape((3, 9, 8), slot(shape=(-1, -1, 7)))


@pytest.mark.parametrize(
    ("shape", "text"), [((), "()"), ((-1,), "(any,)"), ((1, -1, 3), "(1, any, 3)")]
)
def test_shapes_read_as_people_write_them(shape, text):
    assert shape_text(shape) == text


def test_an_operator_is_counted_by_the_type_of_its_result():
    assert op_counts(sum_of(Tensor("x"))) == {("ADD", "float32"): 1}
    assert op_counts(sum_of(Tensor("x", "INT8", scale=0.5))) == {("ADD", "int8"): 1}
    assert op_counts(sum_of(Tensor("x", "INT32"))) == {("ADD", "int32"): 1}


def test_what_computes_is_no_plumbing():
    assert "QUANTIZE" in PLUMBING
    assert not PLUMBING & {"ADD", "MUL", "CONV_2D", "FULLY_CONNECTED", "MEAN", "SOFTMAX"}
