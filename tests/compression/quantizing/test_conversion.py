"""The ways to convert a model."""

from types import SimpleNamespace

import numpy as np
import pytest

from compression import models
from compression.quantizing import nets
from quickfit.compression.quantizing.conversion import (
    ConversionAttempt,
    cannot_convert,
    conversion_attempts,
    finite_samples,
    in_float32,
    input_names,
    input_signature,
    loops_in,
    model_batches,
    named_feeds,
    plain_name,
    short_reason,
)
from quickfit.errors import UsageError


def test_plain_operators_and_any_batch_come_first_and_tensorflow_last():
    ways = list(conversion_attempts("TFLITE_BUILTINS"))
    assert [(way.operators[-1], way.batch_size) for way in ways] == [
        ("TFLITE_BUILTINS", None),
        ("TFLITE_BUILTINS", 1),
        ("SELECT_TF_OPS", None),
    ]
    assert [bool(way.note) for way in ways] == [False, True, True]


def test_float_operators_help_an_int8_file_before_those_of_tensorflow_do():
    ways = [way.operators for way in conversion_attempts("TFLITE_BUILTINS_INT8")]
    assert ways[2] == ("TFLITE_BUILTINS_INT8", "TFLITE_BUILTINS")
    assert ways[3] == ("TFLITE_BUILTINS_INT8", "TFLITE_BUILTINS", "SELECT_TF_OPS")


@pytest.mark.loads_tf
def test_inputs_are_told_by_name_and_size(tf):
    (specs,) = input_signature(models.named(), ConversionAttempt((), batch_size=1))
    assert {key: (one.name, one.shape) for key, one in specs.items()} == {
        "image": ("image", (1, 6, 6, 1)),
        "size": ("size", (1, 2)),
    }
    assert input_signature(models.subclassed(), ConversionAttempt(())) is None


PLACE = (
    'loc(callsite(fused["Digamma:", "sequential_2_1/w_1/Digamma@__inference_function_5257"] at '
    'callsite(fused["PartitionedCall:", "PartitionedCall@__inference_signature_wrapper_5268"] at '
    'fused["PartitionedCall:", "PartitionedCall_1"])))'
)


def test_operators_that_are_missing_are_named_with_their_layer():
    error = f"Could not translate MLIR to FlatBuffer.<unknown>:0: error: {PLACE}: 'tf.Digamma' op "
    error += "is neither a custom op nor a flex op\n<unknown>:0: error: failed while converting: "
    assert short_reason(error, "") == "LiteRT has no operator for Digamma (in w_1)"


def test_a_list_of_operators_is_read_too():
    said = "Some ops are not supported natively.\nFlex ops: FlexErf, FlexLgamma\nDetails:\n"
    assert short_reason("it failed", said) == "LiteRT has no operator for Erf, Lgamma"


def test_another_error_is_cut_to_what_it_says():
    error = "<unknown>:0: error: 'tf.TensorListReserve' op requires element_shape to be static.\n"
    reason = short_reason(error + "x" * 5000, "")
    assert reason == "'tf.TensorListReserve' op requires element_shape to be static"


def test_of_a_traced_error_the_last_line_is_told():
    error = "in user code:\n\n    File \"layer.py\", line 3, in call\n\n    KeyError: 'bad'\n"
    assert short_reason(error, "") == "KeyError: 'bad'"


def test_an_error_without_text_is_one():
    assert short_reason("", "") == "no reason given"


def test_the_message_has_the_first_reason_and_another():
    message = cannot_convert(SimpleNamespace(name="net"), ["one", "one", "two"])
    assert message.startswith("The model 'net' cannot be converted to LiteRT: one.\n")
    assert "Another way: two." in message
    assert "Another way" not in cannot_convert(SimpleNamespace(name="net"), ["one", "one"])


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_the_layer_with_a_loop_is_named():
    (place,) = loops_in(nets.recurrent())
    assert place.startswith("lstm")


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("build", [models.residual, models.named, models.subclassed])
def test_other_models_have_none(build):
    assert loops_in(build()) == []


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_an_unrolled_layer_has_none():
    assert loops_in(nets.recurrent(unroll=True)) == []


@pytest.mark.parametrize(
    ("name", "in_file"),
    [("image", "image"), ("my image-1", "my_image_1"), ("_x", "x"), ("B:0", "B_0"), ("é", "input")],
)
def test_a_name_becomes_one_that_tensorflow_exports(name, in_file):
    assert plain_name(name) == in_file


@pytest.mark.loads_tf
def test_names_are_in_the_order_of_the_model(tf):
    assert input_names(models.nested_twice()) == ("left", "right")
    assert input_names(models.subclassed()) == ()


@pytest.mark.loads_tf
def test_two_inputs_never_get_one_name(tf):
    import keras

    inputs = [keras.Input((1,), name="a b"), keras.Input((1,), name="a_b")]
    model = keras.Model(inputs, keras.layers.Add()(inputs))
    assert input_names(model) == ("a_b", "a_b_2")


@pytest.mark.loads_tf
@pytest.mark.filterwarnings("ignore:When providing `inputs` as a dict")
def test_keys_of_a_dict_are_the_names(tf):
    import keras

    picture = keras.Input((2,), name="some_tensor")
    model = keras.Model({"picture": picture}, keras.layers.Dense(1)(picture))
    assert input_names(model) == ("picture",)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_samples_come_one_by_one_and_by_name():
    model = models.named()
    data = models.data_for(model, 5)
    fed = named_feeds(model, finite_samples(model, data, 3))
    assert len(fed) == 3
    assert {name: one.shape for name, one in fed[0].items()} == {
        "image": (1, 6, 6, 1),
        "size": (1, 2),
    }


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_batches_have_the_structure_of_the_model():
    model = models.named()
    samples = finite_samples(model, models.data_for(model, 5), 5)
    sizes = [len(batch["size"]) for batch in model_batches(model, samples, 2)]
    assert sizes == [2, 2, 1]
    for batch in model_batches(model, samples, 5):
        assert set(model(batch)) == {"kind", "age"}


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_sample_that_is_not_finite_is_counted():
    model = models.named()
    data = models.data_for(model, 5)
    data["size"][1] = np.inf
    with pytest.raises(UsageError, match=r"1 of 5 samples .*\(input 'size'\)"):
        finite_samples(model, data, 5)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_in_float32_is_itself():
    model = models.residual()
    assert in_float32(model) is model


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_model_in_half_precision_is_copied_with_its_weights():
    model = nets.half_precision()
    before = nets.state_of(model)
    made = in_float32(model)
    assert {layer.compute_dtype for layer in made.layers} == {"float32"}
    for ours, theirs in zip(made.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert nets.state_of(model) == before
    data = models.data_for(model)
    np.testing.assert_allclose(np.asarray(made(data)), np.asarray(model(data)), atol=0.01)
