"""Calibration data of every kind, read once into bounded arrays."""

import itertools

import numpy as np
import pytest

from compression import models
from quickfit.compression.calibration import Samples, samples_of
from quickfit.compression.graph import graph_of
from quickfit.errors import UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]

IMAGES = np.arange(40 * 6 * 6 * 2, dtype="float32").reshape(40, 6, 6, 2)
LABELS = np.arange(40) % 3


@pytest.fixture(scope="module")
def graph(tf):
    return graph_of(models.flattened())


@pytest.mark.parametrize(
    "data",
    [
        IMAGES,
        IMAGES.astype("float64"),
        [IMAGES],
        (IMAGES, LABELS),
        [IMAGES, LABELS],
        (IMAGES, LABELS, np.ones(40)),
        [IMAGES[:25], IMAGES[25:]],
        [(IMAGES[:25], LABELS[:25]), (IMAGES[25:], LABELS[25:])],
        [(IMAGES[k : k + 8],) for k in range(0, 40, 8)],
    ],
    ids=["array", "double", "list", "x y", "x y list", "x y w", "batches", "pairs", "singles"],
)
def test_arrays_and_lists_are_read(graph, data):
    samples = samples_of(graph, data)
    np.testing.assert_array_equal(samples.arrays[0], IMAGES)
    assert samples.arrays[0].dtype == np.float32


def test_streams_are_read_from_their_beginning_and_no_further(graph, tf):
    read = []

    def endless():
        for start in itertools.count(0, 8):
            read.append(start)
            yield IMAGES[start % 40 :][:8], LABELS[:8]

    np.testing.assert_array_equal(samples_of(graph, endless(), 20).arrays[0], IMAGES[:20])
    assert read == [0, 8, 16]
    dataset = tf.data.Dataset.from_tensor_slices((IMAGES, LABELS)).batch(8).repeat()
    np.testing.assert_array_equal(samples_of(graph, dataset, 20).arrays[0], IMAGES[:20])


def test_a_pydataset_is_read_all_over(graph):
    import keras

    class Sorted(keras.utils.PyDataset):
        def __len__(self):
            return 10

        def __getitem__(self, index):
            return IMAGES[4 * index : 4 * index + 4], LABELS[4 * index : 4 * index + 4]

    first, second = (samples_of(graph, Sorted(), 12).arrays[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert len(first) == 12
    assert first.max() > IMAGES[20].max()  # not just its beginning


def test_a_pydataset_without_end_is_read_in_order(graph):
    import keras

    class Endless(keras.utils.PyDataset):
        @property
        def num_batches(self):
            return None

        def __getitem__(self, index):
            return IMAGES[4 * index : 4 * index + 4]

    np.testing.assert_array_equal(samples_of(graph, Endless(), 12).arrays[0], IMAGES[:12])


def test_samples_of_arrays_are_spread_and_depend_on_the_seed_alone(graph):
    first, again, other = (samples_of(graph, IMAGES, 10, seed=s).arrays[0] for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first.max() > IMAGES[30].max()


def test_samples_that_were_read_are_taken_as_they_are(graph):
    samples = samples_of(graph, IMAGES)
    assert len(samples_of(graph, samples, 5)) == 5
    np.testing.assert_array_equal(samples_of(graph, samples).arrays[0], IMAGES)


@pytest.mark.parametrize("count", [1, 3])
def test_inputs_by_name_find_their_places(count):
    model = models.named()
    data = models.data_for(model, count)
    graph = graph_of(model)
    for given in (data, (data, {"kind": 0}), [data], iter([data])):
        samples = samples_of(graph, given)
        assert [array.shape for array in samples.arrays] == [(count, 6, 6, 1), (count, 2)]
    again = samples.given_to(graph)
    np.testing.assert_array_equal(again["size"], data["size"])


def test_several_inputs_come_in_a_list_or_a_tuple():
    graph = graph_of(models.nested_twice())
    left, right = np.zeros((4, 6), "float32"), np.ones((4, 6), "float32")
    for given in ([left, right], (left, right), ([left, right], np.zeros(4))):
        assert samples_of(graph, given).arrays[1].mean() == 1
    assert [a.shape for a in next(samples_of(graph, [left, right]).batches(3))] == [(3, 6)] * 2


def test_a_channel_axis_is_added_or_taken_away_as_keras_does():
    import keras

    gray = keras.Sequential([keras.Input((6, 6, 1)), keras.layers.Flatten()])
    assert samples_of(gray, np.zeros((4, 6, 6))).arrays[0].shape == (4, 6, 6, 1)
    flat = keras.Sequential([keras.Input((6,)), keras.layers.Dense(2)])
    assert samples_of(flat, np.zeros((4, 6, 1))).arrays[0].shape == (4, 6)


def test_bytes_become_what_the_input_takes(graph):
    samples = samples_of(graph, np.full((4, 6, 6, 2), 200, "uint8"))
    assert samples.arrays[0].dtype == np.float32
    assert samples.arrays[0].max() == 200


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((4, 5, 6, 2)), r"takes 'input_layer.*' \(…, 6, 6, 2\), and \(4, 5, 6, 2\) came"),
        (np.zeros((6, 6, 2)), r"single samples: put them into batches, dataset\.batch\(32\)"),
        ({"picture": np.zeros((4, 6, 6, 2))}, r"a dict with 'picture' \(4, 6, 6, 2\) came"),
        ([np.zeros((4, 3))], r"and \(4, 3\) came"),
        (iter([(np.zeros((4, 3)), 1)]), r"a tuple of \(4, 3\), int came"),
        (np.full((4, 6, 6, 2), "a"), r"\(4, 6, 6, 2\) of dtype <U1 came"),
        ([[1.0, 2.0], [3.0]], r"a list of float, float came"),
        ("images/", r"a string came: 'images/'"),
        (7, r"Calibration data are arrays, .*; int came"),
        (None, r"NoneType came"),
        ([], r"The calibration data are empty\. Give arrays"),
        (np.zeros((0, 6, 6, 2)), r"The calibration data are empty"),
        (iter(()), r"The calibration data are empty"),
    ],
)
def test_data_that_do_not_fit_are_told(graph, data, message):
    with pytest.raises(UsageError, match=message):
        samples_of(graph, data)


def test_a_limit_of_nothing_is_told(graph):
    with pytest.raises(UsageError, match="1 or more, and 0 came"):
        samples_of(graph, IMAGES, 0)


def test_samples_come_in_batches():
    samples = Samples((np.arange(5),))
    assert [batch[0].tolist() for batch in samples.batches(2)] == [[0, 1], [2, 3], [4]]
