"""The ways to convert a model."""

import pytest

from compression import models
from quickfit.compression.quantizing.converting import Attempt, attempts, signature


def test_plain_operators_and_any_batch_come_first_and_tensorflow_last():
    ways = list(attempts("TFLITE_BUILTINS"))
    assert [(way.operators[-1], way.batch_size) for way in ways] == [
        ("TFLITE_BUILTINS", None),
        ("TFLITE_BUILTINS", 1),
        ("SELECT_TF_OPS", None),
    ]
    assert [bool(way.note) for way in ways] == [False, True, True]


def test_float_operators_help_an_int8_file_before_those_of_tensorflow_do():
    ways = [way.operators for way in attempts("TFLITE_BUILTINS_INT8")]
    assert ways[2] == ("TFLITE_BUILTINS_INT8", "TFLITE_BUILTINS")
    assert ways[3] == ("TFLITE_BUILTINS_INT8", "TFLITE_BUILTINS", "SELECT_TF_OPS")


@pytest.mark.loads_tf
def test_inputs_are_told_by_name_and_size(tf):
    (specs,) = signature(models.named(), Attempt((), batch_size=1))
    assert {key: (one.name, one.shape) for key, one in specs.items()} == {
        "image": ("image", (1, 6, 6, 1)),
        "size": ("size", (1, 2)),
    }
    assert signature(models.subclassed(), Attempt(())) is None
