import numpy as np
import pytest

from quickfit.data.sources.labels import encode, encode_text
from quickfit.errors import UsageError

NAMES = ["a.jpg", "b.jpg", "c.jpg"]


def encoded(values, names=NAMES):
    numbers, classes = encode(values, names)
    return list(numbers), classes


def test_numbers_with_a_point_in_a_text_file_are_numbers_as_in_a_table():
    values = [f"{number}.0" for number in (0, 2, 10)]
    numbers, classes = encode_text(values, NAMES)
    assert list(numbers) == [0, 2, 10]
    assert len(classes) == 11
    with pytest.raises(UsageError, match="is no whole number"):
        encode_text(["0.37", "0.74", "1.5"], NAMES)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([2, 0, 2], id="list"),
        pytest.param((2.0, 0.0, 2.0), id="floats of a table with gaps"),
        pytest.param(np.array([2, 0, 2], dtype=np.uint8), id="array"),
        pytest.param(np.array([[2], [0], [2]]), id="column"),
        pytest.param(iter([2, 0, 2]), id="iterator"),
    ],
)
def test_keeps_numbers_as_they_are(values):
    assert encoded(values) == ([2, 0, 2], ("0", "1", "2"))


def test_makes_sorted_classes_of_texts():
    assert encoded(["dog", "cat", "dog"]) == ([1, 0, 1], ("cat", "dog"))
    assert encoded(np.array([b"dog", b"cat", b"dog"])) == ([1, 0, 1], ("cat", "dog"))


def test_minus_one_stands_for_no_label():
    assert encoded([-1, 0, 1]) == ([-1, 0, 1], ("0", "1"))


def test_takes_truth_values_for_two_classes():
    assert encoded([True, False, True]) == ([1, 0, 1], ("0", "1"))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1, 2], r"labels has 2 items for 3 images"),
        ([1, 2, None], r"the label of c\.jpg is missing \(None\)"),
        ([1, float("nan"), 2], r"the label of b\.jpg is missing \(nan\)"),
        (["x", float("nan"), "y"], r"the label of b\.jpg is missing"),
        (["x", 1, "y"], r"mixes texts \('x'\) and other values \(1, for b\.jpg\)"),
        (["x", " ", "y"], r"the label of b\.jpg is empty"),
        ([0.5, 1, 2], r"the label 0\.5 of a\.jpg is no whole number"),
        ([[1], [2], [3]], r"the label \[1\] of a\.jpg is no whole number"),
        ([0, 1, -2], r"labels go from -2 to 1"),
        ([0, 1, 10**9], r"labels go from 0 to 1,000,000,000"),
        (np.eye(3), r"shape \(3, 3\).*\n.*argmax"),
    ],
)
def test_says_which_label_is_wrong_and_why(values, says):
    with pytest.raises(UsageError, match=says):
        encoded(values)


def test_takes_whole_numbers_in_a_text_file_for_numbers():
    assert encode_text(["2", "0", "10"], NAMES)[1] == tuple(str(number) for number in range(11))


@pytest.mark.parametrize("values", [["01", "02", "03"], ["1", "2", "x"], ["100000", "1", "2"]])
def test_takes_other_numbers_in_a_text_file_for_names(values):
    assert encode_text(values, NAMES)[1] == tuple(sorted(values))


def test_says_that_a_label_is_no_utf8():
    with pytest.raises(UsageError, match=r"of b\.jpg is no UTF-8"):
        encode_text(["x", "caf\udce9", "y"], NAMES)
