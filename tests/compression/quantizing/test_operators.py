"""Operators of a file and their types."""

from compression.quantizing.tiny_files import Tensor, sum_of
from quickfit.compression.quantizing.operators import PLUMBING, op_counts


def test_an_operator_is_counted_by_the_type_of_its_result():
    assert op_counts(sum_of(Tensor("x"))) == {("ADD", "float32"): 1}
    assert op_counts(sum_of(Tensor("x", "INT8", scale=0.5))) == {("ADD", "int8"): 1}
    assert op_counts(sum_of(Tensor("x", "INT32"))) == {("ADD", "int32"): 1}


def test_what_computes_is_no_plumbing():
    assert "QUANTIZE" in PLUMBING
    assert not PLUMBING & {"ADD", "MUL", "CONV_2D", "FULLY_CONNECTED", "MEAN", "SOFTMAX"}
