"""Opening files; what `Runner` does with them is tested with it."""

import pytest

from compression.quantizing.tiny_files import Tensor, sum_of
from quickfit.compression.quantizing.loading import content_of, interpreter_of, slots_of
from quickfit.errors import ModelError


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
