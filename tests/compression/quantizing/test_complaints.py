"""The cause of a failed conversion out of pages of output."""

from types import SimpleNamespace

from quickfit.compression.quantizing.complaints import cannot_convert, short_reason

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
