"""A PyDataset in its own batches or several of them at once."""

import numpy as np
import pytest

from quickfit.errors import ModelError
from quickfit.tuning.trials.feeds import feed_of, in_memory

pytestmark = pytest.mark.loads_tf


@pytest.fixture
def source(tf):
    import keras

    class Numbers(keras.utils.PyDataset):
        ended = 0

        def __init__(self, steps=5):
            super().__init__()
            self.steps = steps

        @property
        def num_batches(self):
            return self.steps

        def __getitem__(self, index):
            y = np.arange(index * 4, index * 4 + 4)
            return [np.stack([y, y], axis=1).astype("float32"), y.astype("float32")], y, None

        def on_epoch_end(self):
            self.ended += 1

    return Numbers


def labels(feed):
    return [y.tolist() for _, y in feed.batches()]


def test_it_is_fed_as_it_is(source):
    given = source()
    feed = feed_of(given, None, 32)
    assert feed.arguments() == {"x": given}
    assert (feed.batch, feed.samples, feed.has_labels) == (4, 20, True)


def test_several_batches_become_one(source):
    given = source()
    feed = feed_of(given, 8, 32)
    assert labels(feed) == [list(range(8)), list(range(8, 16)), list(range(16, 20))]
    merged = feed.arguments()["x"]
    merged.on_epoch_end()
    assert (merged.num_batches, given.ended) == (3, 1)


def test_other_sizes_are_refused_with_the_way_out(source):
    with pytest.raises(ModelError, match=r"batches of 6 cannot be made of .* batches of 4"):
        feed_of(source(), 6, 32)


def test_an_empty_one_is_refused(source):
    with pytest.raises(ModelError, match="the PyDataset is empty"):
        feed_of(source(0), None, 32)


def test_an_endless_one_gets_a_number_of_steps(source):
    feed = feed_of(source(None), 8, 32)
    assert feed.samples is None
    assert feed.arguments()["steps_per_epoch"] == 1000


def test_an_exact_number_of_steps_goes_over_several_epochs(source):
    made = feed_of(source(), None, 32).exactly(7)["x"]
    assert [int(y[0]) for _, y in made] == [0, 4, 8, 12, 16, 0, 4]


def test_it_can_be_held_in_memory(source):
    made = in_memory(feed_of(source(), None, 32))
    first = [y.numpy().tolist() for _, (_, y) in zip(range(6), made.batches(), strict=False)]
    assert first == [*labels(feed_of(source(), None, 32)), [0, 1, 2, 3]]
