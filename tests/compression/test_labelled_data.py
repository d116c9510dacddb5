"""Samples with labels, from data of every form."""

import itertools

import numpy as np
import pytest

from compression import models
from compression.distilling.pupils import ending, question
from quickfit.compression.graph import graph_of
from quickfit.compression.labelled_data import (
    LabelledSamples,
    label_classes,
    read_labelled,
    training_data,
)
from quickfit.errors import UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]

X = np.arange(40 * 6 * 6 * 2, dtype="float32").reshape(40, 6, 6, 2)
Y = np.arange(40) % 3


@pytest.fixture(scope="module")
def graph(tf):
    return graph_of(models.flattened())


@pytest.mark.parametrize(
    "data",
    [
        (X, Y),
        [X, Y],
        (X, Y, np.ones(40)),
        [(X[:25], Y[:25]), (X[25:], Y[25:])],
    ],
    ids=["tuple", "list", "weights", "batches"],
)
def test_arrays_and_batches_are_read(graph, data):
    found = read_labelled(graph, data)
    np.testing.assert_array_equal(found.arrays[0], X)
    np.testing.assert_array_equal(found.labels, Y)


def test_datasets_are_read_as_far_as_needed(graph, tf):
    endless = tf.data.Dataset.from_tensor_slices((X, Y)).batch(8).repeat()
    assert len(read_labelled(graph, endless, 20)) == 20
    stream = ((X[:8], Y[:8]) for _ in itertools.count())
    assert len(read_labelled(graph, stream, 20)) == 20


def test_a_pydataset_is_read(graph):
    import keras

    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return X[8 * index : 8 * index + 8], Y[8 * index : 8 * index + 8]

    np.testing.assert_array_equal(read_labelled(graph, Batches()).labels, Y)


def test_more_arrays_than_wanted_are_picked_by_chance(graph):
    found = read_labelled(graph, (X, Y), 10)
    assert len(found) == 10
    assert found.notes == ("10 of 40 samples were taken, by chance.",)
    np.testing.assert_array_equal(found.labels, read_labelled(graph, (X, Y), 10).labels)


def test_what_was_read_is_taken_as_it_is(graph):
    given = LabelledSamples((X,), Y)
    assert read_labelled(graph, given) is given


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (X, "there are no labels"),
        ({"x": X}, "there are no labels"),
        ([X[:8], X[8:16], X[16:24], X[24:]], "there are no labels"),
        ((X, Y[:-1]), r"\(39\) came as labels of 40 samples"),
        ((X[:0], Y[:0]), "there are no samples in it"),
        ([], "there are no samples in it"),
        ("photos", "a tuple .* of arrays, .*; 'photos' came"),
        (7, "int came"),
        ([(X[0], Y[0])], "These are single samples"),
        ([(X[:, :5], Y)], r"It takes .*\(…, 6, 6, 2\); \(40, 5, 6, 2\) came"),
        ((X, {"a": Y}), "its labels are a dict"),
        ((X * np.nan, Y), "values that are not finite"),
    ],
)
def test_what_cannot_be_used_is_said(graph, data, said):
    with pytest.raises(UsageError, match=f"(?s)mine: .*{said}"):
        read_labelled(graph, data, where="mine")


CODES = np.array([0, 1, 2, 3, 1])


@pytest.fixture(scope="module")
def graph_classes(tf):
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
def test_labels_of_every_form_are_read(graph_classes, labels):
    found = label_classes(graph_classes, labels)
    np.testing.assert_array_equal(found.codes, CODES)
    assert (found.count, found.is_single) == (4, False)


@pytest.mark.parametrize("labels", [[0, 1, 1], [[0], [1], [1]], [False, True, True]])
def test_yes_and_no_are_two_classes(single, labels):
    found = label_classes(single, np.array(labels))
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
def test_labels_that_do_not_fit_are_said(graph_classes, labels, said):
    with pytest.raises(UsageError, match=f"digits: .*{said}"):
        label_classes(graph_classes, np.array(labels), where="digits")


def test_names_of_folders_are_counted(graph_classes):
    with pytest.raises(UsageError, match=r"it has 6 classes \(a, b, c, d, e, …\)"):
        label_classes(graph_classes, CODES, names=list("abcdef"))
    assert label_classes(graph_classes, CODES, names=list("abcd")).count == 4


def test_several_outputs_need_a_function():
    with pytest.raises(UsageError, match=r"The model has 2 outputs .*evaluate=score"):
        label_classes(graph_of(models.named()), CODES)


X_LABELLED, Y_LABELLED = question(70)


@pytest.fixture(scope="module")
def graph_labelled(tf):
    return graph_of(ending("dense"))


def numbered(graph, seed=0, count=70):
    """Return arrays whose labels are the numbers of the samples, as training data."""
    return training_data(graph, (X_LABELLED[:count], np.arange(count)), what="data", seed=seed)


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
            return X_LABELLED[index * 10 : index * 10 + 10], np.full(10, index)

        def on_epoch_end(self):
            self.ended += 1

    return Batches(workers=2, max_queue_size=3)


def test_arrays_come_in_another_order_in_every_epoch_and_in_the_same_for_a_seed(graph_labelled):
    data = numbered(graph_labelled)
    first, second = order(data, 1), order(data, 2)
    assert first != second
    assert order(numbered(graph_labelled), 1) == first
    assert order(numbered(graph_labelled, seed=1), 1) != first
    assert len(set(first)) == 64  # whole batches, a rest is for another epoch


def test_without_a_seed_all_samples_come_in_their_order(graph_labelled):
    assert order(numbered(graph_labelled, seed=None), 1) == list(range(70))


def test_few_samples_are_one_batch(graph_labelled):
    assert sorted(order(numbered(graph_labelled, count=5), 1)) == [0, 1, 2, 3, 4]


def test_batches_of_a_py_dataset_are_put_into_order_too(graph_labelled):
    source = py_dataset()
    data = training_data(graph_labelled, source, what="data", seed=0)
    assert sorted(order(data, 1)) == sorted(np.repeat(range(7), 10).tolist())
    assert order(data, 1) != order(data, 2)
    assert (data.feed.workers, data.feed.max_queue_size) == (2, 3)
    data.feed.on_epoch_end()
    assert source.ended == 1


def test_a_list_of_batches_will_do(graph_labelled):
    batches = [[X_LABELLED[:8], Y_LABELLED[:8]], (X_LABELLED[8:16], Y_LABELLED[8:16])]
    data = training_data(graph_labelled, batches, what="data", seed=None)
    np.testing.assert_array_equal(order(data, 1), Y_LABELLED[:16])


def test_a_dataset_is_taken_as_it_is(graph_labelled, tf):
    source = tf.data.Dataset.from_tensor_slices((X_LABELLED, Y_LABELLED)).batch(8)
    data = training_data(graph_labelled, source, what="data", seed=0)
    assert data.feed is source
    assert len(data.first) == 2


def test_inputs_by_name_and_sample_weights_go_with_their_samples():
    model = models.named()
    x = models.data_for(model, 40)
    y = {"a": np.arange(40)}
    data = training_data(graph_of(model), (x, y, np.arange(40)), what="data", seed=3)
    data.begin(1)
    given, labels, weights = data.feed[0]
    np.testing.assert_array_equal(labels["a"], weights)
    np.testing.assert_array_equal(given["image"], x["image"][weights])


def wrong():
    yield "x alone", X_LABELLED, r"data has no labels: \(70, 4\) came"
    yield "a dict", {"point": X_LABELLED}, "data has no labels: a dict"
    yield "batches without labels", [X_LABELLED[:8]], "data has no labels"
    yield "no batch", [], "data is empty"
    yield "no sample", (X_LABELLED[:0], Y_LABELLED[:0]), "one at least, and there are 0"
    yield (
        "too few labels",
        (X_LABELLED, Y_LABELLED[:5]),
        "as many, one at least, and there are 5 and 70",
    )
    yield (
        "another shape",
        (X_LABELLED[:, :3], Y_LABELLED),
        r"takes 'point' \(None, 4\), and \(70, 3\) came",
    )
    yield (
        "a generator",
        ((X_LABELLED, Y_LABELLED) for _ in "a"),
        "a generator, which is used up after one epoch",
    )
    yield "a name", "digits", "data is arrays in a tuple"


@pytest.mark.parametrize(
    ("data", "message"), [pytest.param(*rest, id=name) for name, *rest in wrong()]
)
def test_is_refused(graph_labelled, data, message):
    with pytest.raises(UsageError, match=message):
        training_data(graph_labelled, data, what="data", seed=0)


def test_what_never_ends_is_refused(graph_labelled, tf):
    import keras

    class Unsaid(keras.utils.PyDataset):
        def __getitem__(self, index):
            return X_LABELLED, Y_LABELLED

    class Endless(Unsaid):
        @property
        def num_batches(self):
            return None

    for data in (
        tf.data.Dataset.from_tensors((X_LABELLED, Y_LABELLED)).repeat(),
        Unsaid(),
        Endless(),
    ):
        with pytest.raises(UsageError, match=r"validation never ends.*dataset.take"):
            training_data(graph_labelled, data, what="validation", seed=None)
