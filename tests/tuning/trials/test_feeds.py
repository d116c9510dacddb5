"""Every kind of data becomes a feed, or it is said why not."""

import numpy as np
import pytest

from quickfit.errors import ModelError
from quickfit.tuning.trials import feeds
from quickfit.tuning.trials.feeds import (
    ArrayFeed,
    DatasetFeed,
    arrays_bytes,
    as_arrays,
    data_kind,
    in_memory,
    make_feed,
)

from tuning.trials.small_models import arrays, dataset


@pytest.mark.loads_tf
def test_arrays_have_the_batch_of_fit_unless_told(tf):
    assert make_feed(arrays(), None, 32).batch == 32
    assert make_feed(arrays(), 10, 32).batch == 10


@pytest.mark.loads_tf
def test_fewer_arrays_than_the_own_batch_are_what_fit_takes(tf):
    assert make_feed(arrays(5), None, 32).samples == 5


@pytest.mark.loads_tf
def test_a_wanted_batch_beyond_the_arrays_is_refused(tf):
    with pytest.raises(ModelError, match=r"a batch of 128 needs more samples than .* \(70\)"):
        make_feed(arrays(), 128, 32)


@pytest.mark.loads_tf
def test_tensors_are_arrays(tf):
    x, y = arrays()
    assert make_feed((tf.constant(x), tf.constant(y)), None, 32).samples == 70


@pytest.mark.loads_tf
def test_a_generator_is_refused(tf):
    with pytest.raises(ModelError, match=r"the data are a generator, which cannot be trained on"):
        make_feed((batch for batch in [arrays()]), None, 32)


@pytest.mark.loads_tf
@pytest.mark.parametrize("data", [arrays, dataset])
def test_held_in_memory_the_same_batches_come_in_turn(tf, data):
    feed = make_feed(data(), 8, 32)
    made = in_memory(feed)
    # Nine batches, the last of them smaller: eight are kept.
    taken = [y.numpy().tolist() for _, (_, y) in zip(range(17), made.batches(), strict=False)]
    assert taken[:8] == [list(y) for _, (_, y) in zip(range(8), feed.batches(), strict=False)]
    assert taken[8:16] == taken[:8]
    assert (made.batch, made.samples, made.kind) == (8, 70, data_kind(data()))


@pytest.mark.loads_tf
def test_not_more_is_held_than_there_is_room_for(tf, monkeypatch):
    monkeypatch.setattr(feeds, "KEPT_BYTES", 400)
    made = in_memory(make_feed(dataset(), None, 32))
    taken = [y.numpy().tolist() for _, (_, y) in zip(range(3), made.batches(), strict=False)]
    assert taken[0] == taken[2] != taken[1]


@pytest.mark.loads_tf
def test_two_data_sets_are_refused(tf):
    with pytest.raises(ModelError, match=r"the data are a tuple of 2 \(.*Dataset, .*Dataset\)"):
        make_feed((dataset(), dataset()), None, 32)


@pytest.mark.loads_tf
def test_data_are_of_a_kind(tf):
    import keras

    assert data_kind(dataset()) == "tf.data"
    assert data_kind(arrays()) == "arrays"
    assert data_kind(keras.utils.PyDataset()) == "PyDataset"


X = np.arange(20).reshape(10, 2)
Y = np.arange(10)


def test_fit_is_given_the_arrays_as_they_are():
    feed = ArrayFeed((X, Y), 4)
    given = feed.arguments()
    assert given["x"] is X
    assert given["y"] is Y
    assert given["batch_size"] == 4
    assert (feed.samples, feed.batch, feed.has_labels) == (10, 4, True)


def test_batches_have_every_sample_once_with_its_label():
    batches = list(ArrayFeed((X, Y), 4).batches())
    assert [len(y) for _, y in batches] == [4, 4, 2]
    assert sorted(np.concatenate([y for _, y in batches])) == list(Y)
    assert all((x[:, 0] == 2 * y).all() for x, y in batches)


def test_an_exact_number_of_steps_goes_over_several_epochs():
    given = ArrayFeed((X, Y, Y + 1), 4).exactly(6)
    assert len(given["y"]) == 24
    assert (given["x"][:, 0] == 2 * given["y"]).all()
    assert (given["sample_weight"] == given["y"] + 1).all()
    assert sorted(given["y"][:10]) == sorted(given["y"][10:20]) == list(Y)
    assert given["shuffle"] is False


def test_the_order_is_the_same_for_every_batch_size():
    one = ArrayFeed((X, Y), 2).exactly(6)["y"]
    other = ArrayFeed((X, Y), 6).exactly(2)["y"]
    assert (one == other).all()


def test_nests_keep_their_form():
    arrays = as_arrays(({"a": X, "b": [X, Y]}, Y))
    given = ArrayFeed(arrays, 4).exactly(1)
    assert list(given["x"]) == ["a", "b"]
    assert isinstance(given["x"]["b"], list)


class Frame:
    """Has a shape and becomes an array, as tensors and data frames do."""

    shape = (10,)

    def __array__(self, dtype=None, copy=None):
        return Y


def test_what_becomes_an_array_is_one():
    assert (as_arrays((X, Frame()))[1] == Y).all()


def test_a_missing_weight_is_none():
    assert len(as_arrays((X, Y, None))) == 2


@pytest.mark.parametrize("data", [iter([X]), "text", (1, 2), (X, Y, Y, Y), None, ()])
def test_anything_else_is_no_arrays(data):
    assert as_arrays(data) is None


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(ModelError, match=r"the arrays differ in length: \[9, 10\]"):
        ArrayFeed((X, Y[:9]), 4)


def test_empty_arrays_are_refused():
    with pytest.raises(ModelError, match="are empty: there is nothing to train on"):
        ArrayFeed((X[:0], Y[:0]), 4)


def test_their_size_is_that_of_all_of_them():
    assert arrays_bytes((X, {"a": Y})) == X.nbytes + Y.nbytes


def test_the_smaller_last_batch_of_an_epoch_can_be_had_by_itself():
    given = ArrayFeed((X, Y), 4).rest()
    assert (len(given["x"]), len(given["y"]), given["batch_size"]) == (2, 2, 4)
    assert ArrayFeed((X, Y), 5).rest() is None


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


@pytest.mark.loads_tf
@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
@pytest.mark.parametrize("batch", [4, 8, 20, 6, 2, 1])
def test_samples_keep_their_order_in_batches_of_another_size(tf, pipeline, batch):
    feed = DatasetFeed(pipeline(numbers(tf), tf), batch)
    assert feed.batch == batch
    assert flat(feed) == list(range(20))
    assert all(len(one) == batch for one in fed(feed)[:-1])


@pytest.mark.loads_tf
@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
def test_a_rest_that_fills_no_batch_of_its_own_does_no_harm(tf, pipeline):
    found = flat(DatasetFeed(pipeline(numbers(tf, 22), tf), 8))
    assert found[:20] == list(range(20))
    assert found[20:] in ([], [20, 21])


@pytest.mark.loads_tf
def test_a_dropped_rest_stays_dropped(tf):
    feed = DatasetFeed(numbers(tf, 22).batch(4, drop_remainder=True), 8)
    assert fed(feed) == [list(range(8)), list(range(8, 16))]


@pytest.mark.loads_tf
def test_without_a_wish_it_is_the_users_own(tf):
    given = numbers(tf).batch(4)
    feed = DatasetFeed(given)
    assert feed.arguments() == {"x": given, "shuffle": False}
    assert (feed.batch, feed.samples, feed.has_labels) == (4, 20, True)


@pytest.mark.loads_tf
def test_the_number_of_samples_is_exact_where_it_can_be_known(tf):
    assert DatasetFeed(numbers(tf, 22).batch(4).prefetch(1)).samples == 22
    assert DatasetFeed(numbers(tf, 22).batch(4, drop_remainder=True)).samples == 20
    assert DatasetFeed(PIPELINES["generator"](numbers(tf), tf)).samples is None


@pytest.mark.loads_tf
def test_endless_data_get_a_number_of_steps(tf):
    feed = DatasetFeed(numbers(tf).repeat().batch(4))
    assert feed.samples is None
    assert feed.arguments()["steps_per_epoch"] == 1000


@pytest.mark.loads_tf
def test_an_exact_number_of_steps_of_a_dataset_goes_over_several_epochs(tf):
    made = DatasetFeed(numbers(tf).batch(4)).exactly(7)["x"]
    assert int(made.cardinality()) == 7
    assert len(list(made)) == 7


@pytest.mark.loads_tf
def test_shuffled_data_come_in_the_same_order_for_every_size(tf):
    def order(batch):
        tf.random.set_seed(3)
        return flat(DatasetFeed(numbers(tf).shuffle(20).batch(4), batch))

    assert order(None) == order(8) == order(6)
    assert order(None) != list(range(20))


@pytest.mark.loads_tf
def test_nested_and_ragged_parts_are_merged(tf):
    rows = tf.ragged.constant([[1], [2, 3], [], [4]])
    given = tf.data.Dataset.from_tensor_slices(({"a": rows, "b": tf.range(4)}, tf.range(4)))
    ((x, y),) = DatasetFeed(given.batch(2), 4).batches()
    assert x["a"].to_list() == [[1], [2, 3], [], [4]]
    assert y.numpy().tolist() == [0, 1, 2, 3]


@pytest.mark.loads_tf
def test_inputs_alone_are_merged(tf):
    given = tf.data.Dataset.range(8).batch(2).map(lambda n: n + 1)
    feed = DatasetFeed(given, 4)
    assert [x.numpy().tolist() for x in feed.batches()] == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert not feed.has_labels


@pytest.mark.loads_tf
def test_merged_batches_keep_their_static_shapes(tf):
    made = DatasetFeed(dataset(drop_remainder=True).map(lambda x, y: (x, y)), 16)
    assert made.arguments()["x"].element_spec[0].shape.as_list() == [None, 4]


@pytest.mark.loads_tf
def test_an_empty_data_set_is_refused(tf):
    with pytest.raises(ModelError, match="the data set is empty: it ends before its first batch"):
        DatasetFeed(numbers(tf).batch(100, drop_remainder=True))


@pytest.mark.loads_tf
def test_single_samples_are_refused(tf):
    with pytest.raises(ModelError, match="one sample at a time"):
        DatasetFeed(tf.data.Dataset.from_tensor_slices((np.ones((4, 2)), np.ones(4))))


@pytest.mark.loads_tf
def test_more_samples_than_there_are_is_refused(tf):
    with pytest.raises(ModelError, match=r"a batch of 64 needs more samples than there are \(20\)"):
        DatasetFeed(numbers(tf).batch(4), 64)


def rest(feed):
    given = feed.rest()
    return given and [len(y) for _, y in given["x"]]


@pytest.mark.loads_tf
def test_the_smaller_last_batch_of_a_dataset_can_be_had_by_itself(tf):
    feed = DatasetFeed(numbers(tf, 22).batch(4))
    assert rest(feed) == [2]
    assert feed.rest()["x"].element_spec == feed.arguments()["x"].element_spec
    assert rest(DatasetFeed(numbers(tf, 22).batch(4), 8)) == [6]


@pytest.mark.loads_tf
@pytest.mark.parametrize("rows", [20, 22])
def test_without_a_smaller_last_batch_there_is_none(tf, rows):
    assert rest(DatasetFeed(numbers(tf, rows).batch(4, drop_remainder=True))) is None
    assert rest(DatasetFeed(numbers(tf, 20).batch(4))) is None
    assert rest(DatasetFeed(numbers(tf, rows).repeat().batch(4))) is None


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


@pytest.mark.loads_tf
def test_it_is_fed_as_it_is(source):
    given = source()
    feed = make_feed(given, None, 32)
    assert feed.arguments() == {"x": given}
    assert (feed.batch, feed.samples, feed.has_labels) == (4, 20, True)


@pytest.mark.loads_tf
def test_several_batches_become_one(source):
    given = source()
    feed = make_feed(given, 8, 32)
    assert labels(feed) == [list(range(8)), list(range(8, 16)), list(range(16, 20))]
    merged = feed.arguments()["x"]
    merged.on_epoch_end()
    assert (merged.num_batches, given.ended) == (3, 1)


@pytest.mark.loads_tf
def test_other_sizes_are_refused_with_the_way_out(source):
    with pytest.raises(ModelError, match=r"batches of 6 cannot be made of .* batches of 4"):
        make_feed(source(), 6, 32)


@pytest.mark.loads_tf
def test_an_empty_one_is_refused(source):
    with pytest.raises(ModelError, match="the PyDataset is empty"):
        make_feed(source(0), None, 32)


@pytest.mark.loads_tf
def test_an_endless_one_gets_a_number_of_steps(source):
    feed = make_feed(source(None), 8, 32)
    assert feed.samples is None
    assert feed.arguments()["steps_per_epoch"] == 1000


@pytest.mark.loads_tf
def test_an_exact_number_of_steps_of_a_py_dataset_goes_over_several_epochs(source):
    made = make_feed(source(), None, 32).exactly(7)["x"]
    assert [int(y[0]) for _, y in made] == [0, 4, 8, 12, 16, 0, 4]


@pytest.mark.loads_tf
def test_it_can_be_held_in_memory(source):
    made = in_memory(make_feed(source(), None, 32))
    first = [y.numpy().tolist() for _, (_, y) in zip(range(6), made.batches(), strict=False)]
    assert first == [*labels(make_feed(source(), None, 32)), [0, 1, 2, 3]]
