"""Every kind of data becomes a feed, or it is said why not."""

import pytest

from quickfit.errors import ModelError
from quickfit.tuning.trials import feeds
from quickfit.tuning.trials.feeds import feed_of, in_memory, kind_of

from tuning.trials.small_models import arrays, dataset

pytestmark = pytest.mark.loads_tf


def test_arrays_have_the_batch_of_fit_unless_told(tf):
    assert feed_of(arrays(), None, 32).batch == 32
    assert feed_of(arrays(), 10, 32).batch == 10


def test_fewer_arrays_than_the_own_batch_are_what_fit_takes(tf):
    assert feed_of(arrays(5), None, 32).samples == 5


def test_a_wanted_batch_beyond_the_arrays_is_refused(tf):
    with pytest.raises(ModelError, match=r"a batch of 128 needs more samples than .* \(70\)"):
        feed_of(arrays(), 128, 32)


def test_tensors_are_arrays(tf):
    x, y = arrays()
    assert feed_of((tf.constant(x), tf.constant(y)), None, 32).samples == 70


def test_a_generator_is_refused(tf):
    with pytest.raises(ModelError, match=r"the data are a generator, which cannot be trained on"):
        feed_of((batch for batch in [arrays()]), None, 32)


@pytest.mark.parametrize("data", [arrays, dataset])
def test_held_in_memory_the_same_batches_come_in_turn(tf, data):
    feed = feed_of(data(), 8, 32)
    made = in_memory(feed)
    # Nine batches, the last of them smaller: eight are kept.
    taken = [y.numpy().tolist() for _, (_, y) in zip(range(17), made.batches(), strict=False)]
    assert taken[:8] == [list(y) for _, (_, y) in zip(range(8), feed.batches(), strict=False)]
    assert taken[8:16] == taken[:8]
    assert (made.batch, made.samples, made.kind) == (8, 70, kind_of(data()))


def test_not_more_is_held_than_there_is_room_for(tf, monkeypatch):
    monkeypatch.setattr(feeds, "KEPT_BYTES", 400)
    made = in_memory(feed_of(dataset(), None, 32))
    taken = [y.numpy().tolist() for _, (_, y) in zip(range(3), made.batches(), strict=False)]
    assert taken[0] == taken[2] != taken[1]


def test_two_data_sets_are_refused(tf):
    with pytest.raises(ModelError, match=r"the data are a tuple of 2 \(.*Dataset, .*Dataset\)"):
        feed_of((dataset(), dataset()), None, 32)


def test_data_are_of_a_kind(tf):
    import keras

    assert kind_of(dataset()) == "tf.data"
    assert kind_of(arrays()) == "arrays"
    assert kind_of(keras.utils.PyDataset()) == "PyDataset"
