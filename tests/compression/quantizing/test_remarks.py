"""What is told about a file from its operators."""

from compression.quantizing.tiny_files import Tensor, sum_of
from quickfit.compression.quantizing.remarks import remarks_on


def test_operators_of_an_int8_file_that_stayed_in_float_are_told():
    assert remarks_on(sum_of(Tensor("x")), "int8") == ("These operators stayed in float: ADD.",)
    assert remarks_on(sum_of(Tensor("x", "INT8", scale=0.5)), "int8-full") == ()


def test_a_float_file_is_what_was_asked_for():
    assert remarks_on(sum_of(Tensor("x")), "float32") == ()
