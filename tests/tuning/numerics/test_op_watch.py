"""Which operation is named, and what is known of it."""

import numpy as np
import pytest

from quickfit.tuning.numerics.op_watch import (
    NumberTally,
    first_bad_op,
    is_all_finite,
    tally_numbers,
    watch_ops,
)


@pytest.mark.loads_tf
def test_infinities_of_the_code_are_told_from_those_that_were_computed(tf):
    written = watch_ops(lambda: tf.where([True, False], [1.0, 2.0], -np.inf))
    assert written.is_written
    assert written.first.is_negative
    assert written.first_nan is None
    computed = watch_ops(lambda: tf.math.log(tf.constant([0.0, 1.0])))
    assert (computed.first.op, computed.is_written) == ("Log", False)


@pytest.mark.loads_tf
def test_the_run_goes_to_its_end_and_the_first_of_each_kind_is_kept(tf):
    done = []

    def run():
        infinite = 1.0 / tf.constant([0.0])
        done.append(infinite - infinite)
        done.append(tf.sqrt(tf.constant([-1.0])))

    witness = watch_ops(run)
    assert len(done) == 2
    assert (witness.first.op, witness.first_nan.op) == ("RealDiv", "Sub")
    assert not witness.first.is_negative
    assert witness.first.place.startswith("test_op_watch.py:")


@pytest.mark.loads_tf
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64"])
def test_every_type_is_looked_at(tf, dtype):
    zero = tf.cast([0.0], dtype)
    assert first_bad_op(lambda: tf.math.log(zero))[0] == "Log"


@pytest.mark.loads_tf
def test_a_healthy_run_names_nothing_and_nobody_listens_afterwards(tf):
    witness = watch_ops(lambda: tf.constant(1.0) + tf.constant(2.0))
    tf.math.log(tf.constant(0.0))
    assert witness.first is None
    assert first_bad_op(lambda: tf.constant(["text"]) + "s") == (None, None)


NAN, INF = float("nan"), float("inf")


def test_a_tally_reads_with_counts_place_and_range():
    both = NumberTally(nan=1, inf=2, size=9, low=0.5, high=12345.678, dtype="float16", first=(3,))
    expected = "1 NaN and 2 Inf of 9 float16 numbers, the first at [3]; from 0.5 to 1.235e+04"
    assert str(both) == expected
    assert str(NumberTally(1, 0, 1, None, None, "float32")) == (
        "1 NaN of 1 float32 numbers; no finite number"
    )
    assert NumberTally(0, 0, 2, -7.0, 3.0, "float32").largest == 7.0


@pytest.mark.loads_tf
def test_counts_place_and_range_are_those_of_the_tensor(tf):
    found = tally_numbers(tf.constant([[1.0, 2.0], [NAN, -INF], [-3.0, INF]]))
    assert found == NumberTally(1, 2, 6, -3.0, 2.0, "float32", (1, 0))
    assert not found.is_finite


@pytest.mark.loads_tf
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_every_type_of_fractions_is_counted(tf, dtype):
    value = tf.cast([1.0, NAN], dtype)
    assert not is_all_finite(value)
    assert tally_numbers(value) == NumberTally(1, 0, 2, 1.0, 1.0, dtype, (1,))


@pytest.mark.loads_tf
def test_text_and_whole_numbers_are_finite_and_tensors_with_gaps_are_looked_into(tf):
    assert is_all_finite(tf.constant(["a"]))
    assert tally_numbers(tf.constant(["a"])).is_finite
    assert tally_numbers(np.array([1, 200], "uint8")) == NumberTally(0, 0, 2, 1.0, 200.0, "uint8")
    assert tally_numbers(tf.constant([], tf.float32)).low is None
    ragged = tf.ragged.constant([[1.0], [2.0, NAN]])
    sparse = tf.sparse.from_dense([[0.0, INF]])
    slices = tf.IndexedSlices(tf.constant([[NAN]]), tf.constant([0]))
    for each in (ragged, sparse, slices, tf.constant([complex(0, NAN)])):
        assert not is_all_finite(each)
        assert not tally_numbers(each).is_finite
