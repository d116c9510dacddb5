"""Whether a batch is what a model takes."""

import numpy as np
import pytest

from quickfit.compression.calibrating.inputs import Wanted, described, fitted, misfit, unlabelled

IMAGE = Wanted("image", ("image",), (None, 4, 4, 1), "float32")
SIZE = Wanted("size", ("size", "size_input"), (None, 2), "int32")
X, Y = np.zeros((6, 4, 4, 1)), np.zeros((6, 2))


@pytest.mark.parametrize(
    "data", [[X, Y], (X, Y), {"image": X, "size": Y}, {"image": X, "size_input": Y, "more": 1}]
)
def test_several_inputs_come_by_place_or_by_name(data):
    arrays = fitted([IMAGE, SIZE], data)
    assert [array.shape for array in arrays] == [(6, 4, 4, 1), (6, 2)]
    assert [str(array.dtype) for array in arrays] == ["float32", "int32"]


@pytest.mark.parametrize(
    "data", [X, [X], [X, Y[:3]], {"image": X}, [Y, X], "words", [X, np.array([["a", "b"]] * 6)]]
)
def test_what_does_not_fit_is_nothing(data):
    assert fitted([IMAGE, SIZE], data) is None


def test_an_axis_of_one_is_added_and_taken_away():
    assert IMAGE.fitted(X[..., 0]).shape == (6, 4, 4, 1)
    assert SIZE.fitted(Y[..., None]).shape == (6, 2)


def test_labels_are_dropped_where_they_follow():
    assert len(unlabelled([IMAGE], (X, np.arange(6)))) == 1
    assert len(unlabelled([IMAGE], X)) == 1


def test_single_samples_are_told_from_others():
    assert "put them into batches" in str(misfit([IMAGE], X[0]))
    assert "it takes 'image' (…, 4, 4, 1), and (6, 2) came" in str(misfit([IMAGE], Y))


def test_data_are_described_in_a_few_words():
    assert described({"a": X}) == "a dict with 'a' (6, 4, 4, 1)"
    assert described([X, "b"]) == "a list of (6, 4, 4, 1), str"
    assert described(()) == "a tuple of nothing"
    assert described(np.array(["a"])) == "(1) of dtype <U1"
