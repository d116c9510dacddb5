"""Numbers to those of a tensor, and back."""

import numpy as np
import pytest

from quickfit.compression.quantizing.arrays import (
    Slot,
    as_tensor,
    as_values,
    check_shape,
    shape_text,
    slot_of,
)
from quickfit.errors import UsageError


def slot(dtype="int8", scale=0.25, zero=4, shape=(-1, 2)):
    return Slot("x", 0, shape, np.dtype(dtype), scale, zero)


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
    assert slot_of("x", details) == Slot("x", 3, (-1, 2), np.dtype("int8"), 0.5, 7)
    assert slot_of("x", {**details, "shape_signature": np.array([])}).shape == (1, 2)


def test_open_sizes_take_any():
    check_shape((3, 9, 7), slot(shape=(-1, -1, 7)))
    with pytest.raises(UsageError, match=r"\(3, 9, 8\); the model takes \(any, any, 7\)"):
        check_shape((3, 9, 8), slot(shape=(-1, -1, 7)))


@pytest.mark.parametrize(
    ("shape", "text"), [((), "()"), ((-1,), "(any,)"), ((1, -1, 3), "(1, any, 3)")]
)
def test_shapes_read_as_people_write_them(shape, text):
    assert shape_text(shape) == text
