"""The kinds of files."""

import pytest

from quickfit.compression.quantizing.kinds import KINDS, kind_named, operators_of
from quickfit.errors import UsageError


def test_only_integers_of_activations_need_samples():
    assert [name for name, kind in KINDS.items() if kind.needs_calibration] == ["int8", "int8-full"]


def test_an_unknown_kind_is_told_with_those_there_are():
    with pytest.raises(UsageError, match="kind='int4': there are float32, float16, dynamic, int8"):
        kind_named("int4")


def test_a_file_of_nothing_but_int8_is_made_of_other_operators():
    assert {operators_of(name) for name in KINDS} == {"TFLITE_BUILTINS", "TFLITE_BUILTINS_INT8"}
