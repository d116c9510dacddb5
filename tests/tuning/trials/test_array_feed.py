"""Arrays in batches."""

import numpy as np
import pytest

from quickfit.errors import ModelError
from quickfit.tuning.trials.array_feed import ArrayFeed, as_arrays, size_bytes

X = np.arange(20).reshape(10, 2)
Y = np.arange(10)


def test_fit_is_given_the_arrays_as_they_are():
    feed = ArrayFeed((X, Y), 4)
    given = feed.arguments()
    assert given["x"] is X
    assert given["y"] is Y
    assert given["batch_size"] == 4
    assert (feed.samples, feed.batch, feed.has_labels) == (10, 4, True)


def test_batches_have_every_sample_once_with_its_label():
    batches = list(ArrayFeed((X, Y), 4).batches())
    assert [len(y) for _, y in batches] == [4, 4, 2]
    assert sorted(np.concatenate([y for _, y in batches])) == list(Y)
    assert all((x[:, 0] == 2 * y).all() for x, y in batches)


def test_an_exact_number_of_steps_goes_over_several_epochs():
    given = ArrayFeed((X, Y, Y + 1), 4).exactly(6)
    assert len(given["y"]) == 24
    assert (given["x"][:, 0] == 2 * given["y"]).all()
    assert (given["sample_weight"] == given["y"] + 1).all()
    assert sorted(given["y"][:10]) == sorted(given["y"][10:20]) == list(Y)
    assert given["shuffle"] is False


def test_the_order_is_the_same_for_every_batch_size():
    one = ArrayFeed((X, Y), 2).exactly(6)["y"]
    other = ArrayFeed((X, Y), 6).exactly(2)["y"]
    assert (one == other).all()


def test_nests_keep_their_form():
    arrays = as_arrays(({"a": X, "b": [X, Y]}, Y))
    given = ArrayFeed(arrays, 4).exactly(1)
    assert list(given["x"]) == ["a", "b"]
    assert isinstance(given["x"]["b"], list)


class Frame:
    """Has a shape and becomes an array, as tensors and data frames do."""

    shape = (10,)

    def __array__(self, dtype=None, copy=None):
        return Y


def test_what_becomes_an_array_is_one():
    assert (as_arrays((X, Frame()))[1] == Y).all()


def test_a_missing_weight_is_none():
    assert len(as_arrays((X, Y, None))) == 2


@pytest.mark.parametrize("data", [iter([X]), "text", (1, 2), (X, Y, Y, Y), None, ()])
def test_anything_else_is_no_arrays(data):
    assert as_arrays(data) is None


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(ModelError, match=r"the arrays differ in length: \[9, 10\]"):
        ArrayFeed((X, Y[:9]), 4)


def test_empty_arrays_are_refused():
    with pytest.raises(ModelError, match="are empty: there is nothing to train on"):
        ArrayFeed((X[:0], Y[:0]), 4)


def test_their_size_is_that_of_all_of_them():
    assert size_bytes((X, {"a": Y})) == X.nbytes + Y.nbytes


def test_the_smaller_last_batch_of_an_epoch_can_be_had_by_itself():
    given = ArrayFeed((X, Y), 4).rest()
    assert (len(given["x"]), len(given["y"]), given["batch_size"]) == (2, 2, 4)
    assert ArrayFeed((X, Y), 5).rest() is None
