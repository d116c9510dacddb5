"""Which operation is named, and what is known of it."""

import numpy as np
import pytest

from quickfit.tuning.numerics.blame import first_bad_op, watched

pytestmark = pytest.mark.loads_tf


def test_infinities_of_the_code_are_told_from_those_that_were_computed(tf):
    written = watched(lambda: tf.where([True, False], [1.0, 2.0], -np.inf))
    assert written.is_written
    assert written.first.is_negative
    assert written.first_nan is None
    computed = watched(lambda: tf.math.log(tf.constant([0.0, 1.0])))
    assert (computed.first.op, computed.is_written) == ("Log", False)


def test_the_run_goes_to_its_end_and_the_first_of_each_kind_is_kept(tf):
    done = []

    def run():
        infinite = 1.0 / tf.constant([0.0])
        done.append(infinite - infinite)
        done.append(tf.sqrt(tf.constant([-1.0])))

    witness = watched(run)
    assert len(done) == 2
    assert (witness.first.op, witness.first_nan.op) == ("RealDiv", "Sub")
    assert not witness.first.is_negative
    assert witness.first.place.startswith("test_blame.py:")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64"])
def test_every_type_is_looked_at(tf, dtype):
    zero = tf.cast([0.0], dtype)
    assert first_bad_op(lambda: tf.math.log(zero))[0] == "Log"


def test_a_healthy_run_names_nothing_and_nobody_listens_afterwards(tf):
    witness = watched(lambda: tf.constant(1.0) + tf.constant(2.0))
    tf.math.log(tf.constant(0.0))
    assert witness.first is None
    assert first_bad_op(lambda: tf.constant(["text"]) + "s") == (None, None)
