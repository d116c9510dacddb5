"""What can be measured without TensorFlow, and what is refused with advice."""

import numpy as np
import pytest

from quickfit.data.speed.feeds import IterableFeed, IteratorFeed, failed_text, feed_of
from quickfit.errors import UsageError


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
