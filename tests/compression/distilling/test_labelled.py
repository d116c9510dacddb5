"""Labelled data of every kind, and what is wrong with others."""

import numpy as np
import pytest

from compression import models
from compression.distilling.pupils import ending, question
from quickfit.compression.distilling.labelled import labelled
from quickfit.compression.graph import graph_of
from quickfit.errors import UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]
X, Y = question(70)


@pytest.fixture(scope="module")
def graph(tf):
    return graph_of(ending("dense"))


def numbered(graph, seed=0, count=70):
    """Return arrays whose labels are the numbers of the samples, as training data."""
    return labelled(graph, (X[:count], np.arange(count)), what="data", seed=seed)


def order(data, epoch):
    data.begin(epoch)
    return np.concatenate([data.feed[i][1] for i in range(len(data.feed))]).tolist()


def py_dataset():
    import keras

    class Batches(keras.utils.PyDataset):
        ended = 0

        def __len__(self):
            return 7

        def __getitem__(self, index):
            return X[index * 10 : index * 10 + 10], np.full(10, index)

        def on_epoch_end(self):
            self.ended += 1

    return Batches(workers=2, max_queue_size=3)


def test_arrays_come_in_another_order_in_every_epoch_and_in_the_same_for_a_seed(graph):
    data = numbered(graph)
    first, second = order(data, 1), order(data, 2)
    assert first != second
    assert order(numbered(graph), 1) == first
    assert order(numbered(graph, seed=1), 1) != first
    assert len(set(first)) == 64  # whole batches, a rest is for another epoch


def test_without_a_seed_all_samples_come_in_their_order(graph):
    assert order(numbered(graph, seed=None), 1) == list(range(70))


def test_few_samples_are_one_batch(graph):
    assert sorted(order(numbered(graph, count=5), 1)) == [0, 1, 2, 3, 4]


def test_batches_of_a_py_dataset_are_put_into_order_too(graph):
    source = py_dataset()
    data = labelled(graph, source, what="data", seed=0)
    assert sorted(order(data, 1)) == sorted(np.repeat(range(7), 10).tolist())
    assert order(data, 1) != order(data, 2)
    assert (data.feed.workers, data.feed.max_queue_size) == (2, 3)
    data.feed.on_epoch_end()
    assert source.ended == 1


def test_a_list_of_batches_will_do(graph):
    batches = [[X[:8], Y[:8]], (X[8:16], Y[8:16])]
    data = labelled(graph, batches, what="data", seed=None)
    np.testing.assert_array_equal(order(data, 1), Y[:16])


def test_a_dataset_is_taken_as_it_is(graph, tf):
    source = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)
    data = labelled(graph, source, what="data", seed=0)
    assert data.feed is source
    assert len(data.first) == 2


def test_inputs_by_name_and_sample_weights_go_with_their_samples():
    model = models.named()
    x = models.data_for(model, 40)
    y = {"a": np.arange(40)}
    data = labelled(graph_of(model), (x, y, np.arange(40)), what="data", seed=3)
    data.begin(1)
    given, labels, weights = data.feed[0]
    np.testing.assert_array_equal(labels["a"], weights)
    np.testing.assert_array_equal(given["image"], x["image"][weights])


def wrong():
    yield "x alone", X, r"data has no labels: \(70, 4\) came"
    yield "a dict", {"point": X}, "data has no labels: a dict"
    yield "batches without labels", [X[:8]], "data has no labels"
    yield "no batch", [], "data is empty"
    yield "no sample", (X[:0], Y[:0]), "one at least, and there are 0"
    yield "too few labels", (X, Y[:5]), "as many, one at least, and there are 5 and 70"
    yield "another shape", (X[:, :3], Y), r"takes 'point' \(None, 4\), and \(70, 3\) came"
    yield "a generator", ((X, Y) for _ in "a"), "a generator, which is used up after one epoch"
    yield "a name", "digits", "data is arrays in a tuple"


@pytest.mark.parametrize(
    ("data", "message"), [pytest.param(*rest, id=name) for name, *rest in wrong()]
)
def test_is_refused(graph, data, message):
    with pytest.raises(UsageError, match=message):
        labelled(graph, data, what="data", seed=0)


def test_what_never_ends_is_refused(graph, tf):
    import keras

    class Unsaid(keras.utils.PyDataset):
        def __getitem__(self, index):
            return X, Y

    class Endless(Unsaid):
        @property
        def num_batches(self):
            return None

    for data in (tf.data.Dataset.from_tensors((X, Y)).repeat(), Unsaid(), Endless()):
        with pytest.raises(UsageError, match=r"validation never ends.*dataset.take"):
            labelled(graph, data, what="validation", seed=None)
