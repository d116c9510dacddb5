"""Data sets in batches of any size, the samples in the same order."""

import numpy as np
import pytest

from quickfit.errors import ModelError
from quickfit.tuning.trials.dataset_feed import DatasetFeed

from tuning.trials.small_models import dataset

pytestmark = pytest.mark.loads_tf


def numbers(tf, rows=20):
    return tf.data.Dataset.range(rows).map(lambda n: (tf.stack([n, n]), n))


def fed(feed):
    return [y.numpy().tolist() for _, y in feed.batches()]


def flat(feed):
    return [n for batch in fed(feed) for n in batch]


# Each with its batches of four samples.
PIPELINES = {
    "batch": lambda ds, tf: ds.batch(4),
    "batch, prefetch": lambda ds, tf: ds.batch(4).prefetch(2),
    "parallel batch": lambda ds, tf: ds.batch(4, num_parallel_calls=2),
    "batch, map": lambda ds, tf: ds.batch(4).map(lambda x, y: (x, y)),
    "batch, filter": lambda ds, tf: ds.batch(4).filter(lambda x, y: True),
    "dropped rest, map": lambda ds, tf: ds.batch(4, drop_remainder=True).map(lambda x, y: (x, y)),
    "generator": lambda ds, tf: tf.data.Dataset.from_generator(
        lambda: ds.batch(4).as_numpy_iterator(),
        output_signature=(tf.TensorSpec((None, 2), tf.int64), tf.TensorSpec((None,), tf.int64)),
    ),
}


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
@pytest.mark.parametrize("batch", [4, 8, 20, 6, 2, 1])
def test_samples_keep_their_order_in_batches_of_another_size(tf, pipeline, batch):
    feed = DatasetFeed(pipeline(numbers(tf), tf), batch)
    assert feed.batch == batch
    assert flat(feed) == list(range(20))
    assert all(len(one) == batch for one in fed(feed)[:-1])


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
def test_a_rest_that_fills_no_batch_of_its_own_does_no_harm(tf, pipeline):
    found = flat(DatasetFeed(pipeline(numbers(tf, 22), tf), 8))
    assert found[:20] == list(range(20))
    assert found[20:] in ([], [20, 21])


def test_a_dropped_rest_stays_dropped(tf):
    feed = DatasetFeed(numbers(tf, 22).batch(4, drop_remainder=True), 8)
    assert fed(feed) == [list(range(8)), list(range(8, 16))]


def test_without_a_wish_it_is_the_users_own(tf):
    given = numbers(tf).batch(4)
    feed = DatasetFeed(given)
    assert feed.arguments() == {"x": given, "shuffle": False}
    assert (feed.batch, feed.samples, feed.has_labels) == (4, 20, True)


def test_the_number_of_samples_is_exact_where_it_can_be_known(tf):
    assert DatasetFeed(numbers(tf, 22).batch(4).prefetch(1)).samples == 22
    assert DatasetFeed(numbers(tf, 22).batch(4, drop_remainder=True)).samples == 20
    assert DatasetFeed(PIPELINES["generator"](numbers(tf), tf)).samples is None


def test_endless_data_get_a_number_of_steps(tf):
    feed = DatasetFeed(numbers(tf).repeat().batch(4))
    assert feed.samples is None
    assert feed.arguments()["steps_per_epoch"] == 1000


def test_an_exact_number_of_steps_goes_over_several_epochs(tf):
    made = DatasetFeed(numbers(tf).batch(4)).exactly(7)["x"]
    assert int(made.cardinality()) == 7
    assert len(list(made)) == 7


def test_shuffled_data_come_in_the_same_order_for_every_size(tf):
    def order(batch):
        tf.random.set_seed(3)
        return flat(DatasetFeed(numbers(tf).shuffle(20).batch(4), batch))

    assert order(None) == order(8) == order(6)
    assert order(None) != list(range(20))


def test_nested_and_ragged_parts_are_merged(tf):
    rows = tf.ragged.constant([[1], [2, 3], [], [4]])
    given = tf.data.Dataset.from_tensor_slices(({"a": rows, "b": tf.range(4)}, tf.range(4)))
    ((x, y),) = DatasetFeed(given.batch(2), 4).batches()
    assert x["a"].to_list() == [[1], [2, 3], [], [4]]
    assert y.numpy().tolist() == [0, 1, 2, 3]


def test_inputs_alone_are_merged(tf):
    given = tf.data.Dataset.range(8).batch(2).map(lambda n: n + 1)
    feed = DatasetFeed(given, 4)
    assert [x.numpy().tolist() for x in feed.batches()] == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert not feed.has_labels


def test_merged_batches_keep_their_static_shapes(tf):
    made = DatasetFeed(dataset(drop_remainder=True).map(lambda x, y: (x, y)), 16)
    assert made.arguments()["x"].element_spec[0].shape.as_list() == [None, 4]


def test_an_empty_data_set_is_refused(tf):
    with pytest.raises(ModelError, match="the data set is empty: it ends before its first batch"):
        DatasetFeed(numbers(tf).batch(100, drop_remainder=True))


def test_single_samples_are_refused(tf):
    with pytest.raises(ModelError, match="one sample at a time"):
        DatasetFeed(tf.data.Dataset.from_tensor_slices((np.ones((4, 2)), np.ones(4))))


def test_more_samples_than_there_are_is_refused(tf):
    with pytest.raises(ModelError, match=r"a batch of 64 needs more samples than there are \(20\)"):
        DatasetFeed(numbers(tf).batch(4), 64)


def rest(feed):
    given = feed.rest()
    return given and [len(y) for _, y in given["x"]]


def test_the_smaller_last_batch_of_an_epoch_can_be_had_by_itself(tf):
    feed = DatasetFeed(numbers(tf, 22).batch(4))
    assert rest(feed) == [2]
    assert feed.rest()["x"].element_spec == feed.arguments()["x"].element_spec
    assert rest(DatasetFeed(numbers(tf, 22).batch(4), 8)) == [6]


@pytest.mark.parametrize("rows", [20, 22])
def test_without_a_smaller_last_batch_there_is_none(tf, rows):
    assert rest(DatasetFeed(numbers(tf, rows).batch(4, drop_remainder=True))) is None
    assert rest(DatasetFeed(numbers(tf, 20).batch(4))) is None
    assert rest(DatasetFeed(numbers(tf, rows).repeat().batch(4))) is None
