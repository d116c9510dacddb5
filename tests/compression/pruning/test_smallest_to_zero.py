"""The constraint by itself."""

import numpy as np
import pytest

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def constraint(**other):
    from quickfit.compression.pruning.smallest_to_zero import SmallestToZero

    return SmallestToZero(**({"sparsity": 0.8, "begin": 0, "end": 100, "shape": (10,)} | other))


def test_the_share_grows_by_a_cubic_from_begin_to_end():
    one = constraint(begin=10, end=20)
    shares = [float(one.share_at(step)) for step in (0, 10, 15, 20, 99)]
    assert shares == pytest.approx([0, 0, 0.8 * (1 - 0.5**3), 0.8, 0.8], abs=1e-6)


def test_the_smallest_weights_go_and_stay_away():
    one = constraint(end=1, step=1)
    weights = np.arange(1, 11, dtype="float32")
    first = np.asarray(one(weights))
    np.testing.assert_array_equal(first, [0] * 8 + [9, 10])
    revived = np.asarray(one(weights[::-1].copy()))  # as momentum would bring them back
    np.testing.assert_array_equal(revived, [0] * 8 + [2, 1])


def test_weights_that_are_alike_do_not_all_go():
    assert np.count_nonzero(np.asarray(constraint(end=1, step=1)(np.ones(10, "float32")))) == 2


def test_a_constraint_that_was_there_is_applied_first():
    found = constraint(end=1, step=1, first="non_neg")(-np.arange(1, 11, dtype="float32"))
    np.testing.assert_array_equal(np.asarray(found), np.zeros(10))


def test_it_goes_on_where_it_was_saved():
    import keras

    one = constraint()
    for _ in range(3):
        one(np.ones(10, "float32"))
    again = keras.constraints.deserialize(keras.constraints.serialize(one))
    assert int(again.step.numpy()) == 3
    assert (again.sparsity, again.begin, again.end, again.shape) == (0.8, 0, 100, (10,))
