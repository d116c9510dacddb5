"""Counting numbers that are not finite in every kind of tensor."""

import numpy as np
import pytest

from quickfit.tuning.numerics.tally import Tally, is_all_finite, tally

NAN, INF = float("nan"), float("inf")


def test_a_tally_reads_with_counts_place_and_range():
    both = Tally(nan=1, inf=2, size=9, low=0.5, high=12345.678, dtype="float16", first=(3,))
    expected = "1 NaN and 2 Inf of 9 float16 numbers, the first at [3]; from 0.5 to 1.235e+04"
    assert str(both) == expected
    assert str(Tally(1, 0, 1, None, None, "float32")) == (
        "1 NaN of 1 float32 numbers; no finite number"
    )
    assert Tally(0, 0, 2, -7.0, 3.0, "float32").largest == 7.0


@pytest.mark.loads_tf
def test_counts_place_and_range_are_those_of_the_tensor(tf):
    found = tally(tf.constant([[1.0, 2.0], [NAN, -INF], [-3.0, INF]]))
    assert found == Tally(1, 2, 6, -3.0, 2.0, "float32", (1, 0))
    assert not found.is_finite


@pytest.mark.loads_tf
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_every_type_of_fractions_is_counted(tf, dtype):
    value = tf.cast([1.0, NAN], dtype)
    assert not is_all_finite(value)
    assert tally(value) == Tally(1, 0, 2, 1.0, 1.0, dtype, (1,))


@pytest.mark.loads_tf
def test_text_and_whole_numbers_are_finite_and_tensors_with_gaps_are_looked_into(tf):
    assert is_all_finite(tf.constant(["a"]))
    assert tally(tf.constant(["a"])).is_finite
    assert tally(np.array([1, 200], "uint8")) == Tally(0, 0, 2, 1.0, 200.0, "uint8")
    assert tally(tf.constant([], tf.float32)).low is None
    ragged = tf.ragged.constant([[1.0], [2.0, NAN]])
    sparse = tf.sparse.from_dense([[0.0, INF]])
    slices = tf.IndexedSlices(tf.constant([[NAN]]), tf.constant([0]))
    for each in (ragged, sparse, slices, tf.constant([complex(0, NAN)])):
        assert not is_all_finite(each)
        assert not tally(each).is_finite
