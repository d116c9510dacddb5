"""How many examples an element holds."""

import numpy as np
import pytest

from quickfit.data.speed.counting import counter, looks_batched

BATCH = (np.zeros((32, 8, 8, 3), np.uint8), np.zeros(32, np.int64))


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        pytest.param(BATCH, True, id="images and labels"),
        pytest.param({"image": BATCH[0], "label": BATCH[1]}, True, id="in a dictionary"),
        pytest.param((BATCH[0], np.zeros((32, 10))), True, id="with vectors for labels"),
        pytest.param(BATCH[0], True, id="images alone"),
        pytest.param((BATCH[0][0], np.int64(3)), False, id="one image and its label"),
        pytest.param((np.zeros((8, 8, 3)), np.zeros((8, 8, 1))), False, id="an image, its mask"),
        pytest.param(np.zeros((8, 8, 3)), False, id="one image"),
        pytest.param(3, False, id="a number"),
        pytest.param((), False, id="nothing"),
        pytest.param(np.zeros((8, 4)), True, id="rows alone"),
        pytest.param(np.zeros((8, 50, 16)), True, id="sequences alone"),
        pytest.param((np.zeros((8, 50, 3)), np.zeros(8)), True, id="sequences and labels"),
        pytest.param((BATCH[0], np.zeros((32, 8, 8, 1))), True, id="images and masks"),
        pytest.param((np.zeros(8), np.zeros(8)), True, id="two lists of one length"),
        pytest.param((BATCH[0][0], 3), False, id="one image and a number of Python"),
        pytest.param((BATCH[0][0], np.zeros(10)), False, id="one image, a vector for its label"),
        pytest.param(np.zeros(8), False, id="one vector"),
        pytest.param((np.zeros(4), np.zeros(10)), False, id="vectors of other lengths"),
    ],
)
def test_a_batch_is_told_by_its_looks(element, expected):
    assert looks_batched(element) is expected


def test_what_the_chain_says_comes_before_looks():
    assert counter(np.zeros((5, 3)), is_batched=True)(np.zeros((4, 3))) == 4
    assert counter(BATCH, is_batched=False)(BATCH) == 1


def test_what_the_user_says_comes_first():
    assert counter(BATCH, is_batched=True, batch_size=7)(BATCH) == 7


def test_the_last_batch_is_counted_as_it_is():
    count = counter(BATCH, is_batched=None)
    assert count((BATCH[0][:5], BATCH[1][:5])) == 5


ROWS, LABELS = np.zeros((8, 4)), np.zeros(8)


@pytest.mark.parametrize(
    "element",
    [
        pytest.param(ROWS, id="an array"),
        pytest.param((ROWS, LABELS), id="rows and labels"),
        pytest.param((LABELS, ROWS), id="labels first"),
        pytest.param({"x": ROWS, "y": LABELS}, id="a dictionary"),
        pytest.param({"class_weights": np.zeros(10), "x": ROWS}, id="something else beside it"),
        pytest.param(((ROWS, ROWS), LABELS), id="two inputs"),
    ],
)
def test_the_same_rows_count_the_same_however_they_are_handed_over(element):
    assert counter(element, is_batched=None)(element) == 8
