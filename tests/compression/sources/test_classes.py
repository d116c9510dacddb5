"""Labels as classes."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.graph import graph_of
from quickfit.compression.sources.classes import classes_of
from quickfit.errors import UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]

CODES = np.array([0, 1, 2, 3, 1])


@pytest.fixture(scope="module")
def graph(tf):
    """Return the graph of a model that tells four classes apart."""
    return graph_of(models.sequential())


@pytest.fixture(scope="module")
def single(tf):
    """Return the graph of a model that gives one number."""
    import keras

    return graph_of(keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]))


@pytest.mark.parametrize(
    "labels",
    [
        CODES,
        CODES[:, None],
        CODES.astype("float32"),
        CODES.astype("uint8"),
        np.eye(4)[CODES],
        np.array(["a", "b", "c", "d", "b"]),
        np.array([b"a", b"b", b"c", b"d", b"b"], dtype=object),
    ],
    ids=["numbers", "column", "floats", "bytes", "one-hot", "names", "objects"],
)
def test_labels_of_every_form_are_read(graph, labels):
    found = classes_of(graph, labels)
    np.testing.assert_array_equal(found.codes, CODES)
    assert (found.count, found.is_single) == (4, False)


@pytest.mark.parametrize("labels", [[0, 1, 1], [[0], [1], [1]], [False, True, True]])
def test_yes_and_no_are_two_classes(single, labels):
    found = classes_of(single, np.array(labels))
    np.testing.assert_array_equal(found.codes, [0, 1, 1])
    assert (found.count, found.is_single) == (2, True)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([0, 7], r"its labels go from 0 to 7, and the model tells 4 classes apart"),
        ([1, 2, 3, 4], r"They seem to begin at 1: subtract 1"),
        ([-1, 2], r"its labels go from -1 to 2"),
        ([0.5, 1.0], r"its labels are numbers such as 0\.5, no classes.*evaluate="),
        ([float("nan"), 1.0], r"its labels are numbers such as nan"),
        ([[1, 1, 0, 0], [0, 0, 0, 0]], r"vectors that do not add up to 1"),
        ([[1, 0], [0, 1]], r"labels of the shape \(2, 2\) do not fit"),
        (["cat", "dog"], r"it has 2 classes \(cat, dog\), and the model tells 4 apart"),
    ],
)
def test_labels_that_do_not_fit_are_said(graph, labels, said):
    with pytest.raises(UsageError, match=f"digits: .*{said}"):
        classes_of(graph, np.array(labels), where="digits")


def test_names_of_folders_are_counted(graph):
    with pytest.raises(UsageError, match=r"it has 6 classes \(a, b, c, d, e, …\)"):
        classes_of(graph, CODES, names=list("abcdef"))
    assert classes_of(graph, CODES, names=list("abcd")).count == 4


def test_several_outputs_need_a_function():
    with pytest.raises(UsageError, match=r"The model has 2 outputs .*evaluate=score"):
        classes_of(graph_of(models.named()), CODES)
