"""How many examples an element holds."""

import numpy as np
import pytest

from quickfit.data.speed.feeds import (
    IterableFeed,
    IteratorFeed,
    example_counter,
    failed_text,
    feed_of,
    looks_batched,
)
from quickfit.errors import UsageError

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
    assert example_counter(np.zeros((5, 3)), is_batched=True)(np.zeros((4, 3))) == 4
    assert example_counter(BATCH, is_batched=False)(BATCH) == 1


def test_what_the_user_says_comes_first():
    assert example_counter(BATCH, is_batched=True, batch_size=7)(BATCH) == 7


def test_the_last_batch_is_counted_as_it_is():
    count = example_counter(BATCH, is_batched=None)
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
    assert example_counter(element, is_batched=None)(element) == 8


def numbers():
    yield from range(3)


class Loader:
    def __iter__(self):
        return numbers()


def test_a_generator_can_be_gone_through_once():
    feed = feed_of(numbers())
    assert isinstance(feed, IteratorFeed)
    assert feed.name == "numbers"
    assert list(feed.begin()) == [0, 1, 2]
    assert feed.begin() is None


def test_what_makes_iterators_can_be_gone_through_again():
    feed = feed_of(Loader())
    assert isinstance(feed, IterableFeed)
    assert list(feed.begin()) == list(feed.begin()) == [0, 1, 2]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(numbers, r"received the function `numbers`.*\n.*measure\(numbers\(\)\)"),
        pytest.param((np.zeros((9, 2)), np.zeros(9)), r"a tuple of 2 \(ndarray, …\), which is in"),
        pytest.param(np.zeros((9, 2)), r"a ndarray of shape \(9, 2\).*\n(.*\n)*.*from_tensor"),
        pytest.param({"x": np.zeros(3)}, "received a dict"),
        pytest.param([1, 2], r"received a list of 2 \(int, …\)"),
        pytest.param("photos", "received a str"),
        pytest.param(None, r"cannot be iterated \(received: None\)"),
        pytest.param(7, r"cannot be iterated \(received: a int\).*\nGive a tf.data.Dataset"),
    ],
)
def test_what_feeds_no_model_is_refused_with_advice(source, message):
    with pytest.raises(UsageError, match=message):
        feed_of(source)


def test_a_pipeline_that_fails_is_told_with_the_ends_of_its_message():
    said = failed_text("photos", 12, ValueError("begin " + "x" * 5000 + " end"))
    assert said.startswith("photos: the pipeline failed after 12 elements.\nbegin xxx")
    assert "…" in said
    assert " end\n" in said
    assert len(said) < 2000
