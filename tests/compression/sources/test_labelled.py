"""Samples with labels, from data of every form."""

import itertools

import numpy as np
import pytest

from compression import models
from quickfit.compression.graph import graph_of
from quickfit.compression.sources.labelled import Labelled, labelled_of
from quickfit.errors import UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]

X = np.arange(40 * 6 * 6 * 2, dtype="float32").reshape(40, 6, 6, 2)
Y = np.arange(40) % 3


@pytest.fixture(scope="module")
def graph(tf):
    return graph_of(models.flattened())


@pytest.mark.parametrize(
    "data",
    [
        (X, Y),
        [X, Y],
        (X, Y, np.ones(40)),
        [(X[:25], Y[:25]), (X[25:], Y[25:])],
    ],
    ids=["tuple", "list", "weights", "batches"],
)
def test_arrays_and_batches_are_read(graph, data):
    found = labelled_of(graph, data)
    np.testing.assert_array_equal(found.arrays[0], X)
    np.testing.assert_array_equal(found.labels, Y)


def test_datasets_are_read_as_far_as_needed(graph, tf):
    endless = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8).repeat()
    assert len(labelled_of(graph, endless, 20)) == 20
    stream = ((X[:8], Y[:8]) for _ in itertools.count())
    assert len(labelled_of(graph, stream, 20)) == 20


def test_a_pydataset_is_read(graph):
    import keras

    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return X[8 * index : 8 * index + 8], Y[8 * index : 8 * index + 8]

    np.testing.assert_array_equal(labelled_of(graph, Batches()).labels, Y)


def test_more_arrays_than_wanted_are_picked_by_chance(graph):
    found = labelled_of(graph, (X, Y), 10)
    assert len(found) == 10
    assert found.notes == ("10 of 40 samples were taken, by chance.",)
    np.testing.assert_array_equal(found.labels, labelled_of(graph, (X, Y), 10).labels)


def test_what_was_read_is_taken_as_it_is(graph):
    given = Labelled((X,), Y)
    assert labelled_of(graph, given) is given


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (X, "there are no labels"),
        ({"x": X}, "there are no labels"),
        ([X[:8], X[8:16], X[16:24], X[24:]], "there are no labels"),
        ((X, Y[:-1]), r"\(39\) came as labels of 40 samples"),
        ((X[:0], Y[:0]), "there are no samples in it"),
        ([], "there are no samples in it"),
        ("photos", "a tuple .* of arrays, .*; 'photos' came"),
        (7, "int came"),
        ([(X[0], Y[0])], "These are single samples"),
        ([(X[:, :5], Y)], r"It takes .*\(…, 6, 6, 2\); \(40, 5, 6, 2\) came"),
        ((X, {"a": Y}), "its labels are a dict"),
        ((X * np.nan, Y), "values that are not finite"),
    ],
)
def test_what_cannot_be_used_is_said(graph, data, said):
    with pytest.raises(UsageError, match=f"(?s)mine: .*{said}"):
        labelled_of(graph, data, where="mine")
