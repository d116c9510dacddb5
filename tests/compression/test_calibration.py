"""Calibration data of every kind, read once into bounded arrays."""

import itertools

import numpy as np
import pytest

from compression import models
from quickfit.compression.calibration import (
    LayerRun,
    ModelInput,
    Samples,
    affordable_samples,
    describe_data,
    drop_labels,
    fit_inputs,
    iterate_activations,
    misfit_error,
    samples_of,
)
from quickfit.compression.copying import copied
from quickfit.compression.graph import graph_of
from quickfit.errors import UsageError

IMAGES = np.arange(40 * 6 * 6 * 2, dtype="float32").reshape(40, 6, 6, 2)
LABELS = np.arange(40) % 3


@pytest.fixture(scope="module")
def graph(tf):
    return graph_of(models.flattened())


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_pydataset_without_end_is_read_in_order(graph):
    import keras

    class Endless(keras.utils.PyDataset):
        @property
        def num_batches(self):
            return None

        def __getitem__(self, index):
            return IMAGES[4 * index : 4 * index + 4]

    np.testing.assert_array_equal(samples_of(graph, Endless(), 12).arrays[0], IMAGES[:12])


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_samples_of_arrays_are_spread_and_depend_on_the_seed_alone(graph):
    first, again, other = (samples_of(graph, IMAGES, 10, seed=s).arrays[0] for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first.max() > IMAGES[30].max()


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_samples_that_were_read_are_taken_as_they_are(graph):
    samples = samples_of(graph, IMAGES)
    assert len(samples_of(graph, samples, 5)) == 5
    np.testing.assert_array_equal(samples_of(graph, samples).arrays[0], IMAGES)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_several_inputs_come_in_a_list_or_a_tuple():
    graph = graph_of(models.nested_twice())
    left, right = np.zeros((4, 6), "float32"), np.ones((4, 6), "float32")
    for given in ([left, right], (left, right), ([left, right], np.zeros(4))):
        assert samples_of(graph, given).arrays[1].mean() == 1
    assert [a.shape for a in next(samples_of(graph, [left, right]).batches(3))] == [(3, 6)] * 2


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_channel_axis_is_added_or_taken_away_as_keras_does():
    import keras

    gray = keras.Sequential([keras.Input((6, 6, 1)), keras.layers.Flatten()])
    assert samples_of(gray, np.zeros((4, 6, 6))).arrays[0].shape == (4, 6, 6, 1)
    flat = keras.Sequential([keras.Input((6,)), keras.layers.Dense(2)])
    assert samples_of(flat, np.zeros((4, 6, 1))).arrays[0].shape == (4, 6)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_bytes_become_what_the_input_takes(graph):
    samples = samples_of(graph, np.full((4, 6, 6, 2), 200, "uint8"))
    assert samples.arrays[0].dtype == np.float32
    assert samples.arrays[0].max() == 200


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
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


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_limit_of_nothing_is_told(graph):
    with pytest.raises(UsageError, match="1 or more, and 0 came"):
        samples_of(graph, IMAGES, 0)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_samples_come_in_batches():
    samples = Samples((np.arange(5),))
    assert [batch[0].tolist() for batch in samples.batches(2)] == [[0, 1], [2, 3], [4]]


IMAGE = ModelInput("image", ("image",), (None, 4, 4, 1), "float32")
SIZE = ModelInput("size", ("size", "size_input"), (None, 2), "int32")
X, Y = np.zeros((6, 4, 4, 1)), np.zeros((6, 2))


@pytest.mark.parametrize(
    "data", [[X, Y], (X, Y), {"image": X, "size": Y}, {"image": X, "size_input": Y, "more": 1}]
)
def test_several_inputs_come_by_place_or_by_name(data):
    arrays = fit_inputs([IMAGE, SIZE], data)
    assert [array.shape for array in arrays] == [(6, 4, 4, 1), (6, 2)]
    assert [str(array.dtype) for array in arrays] == ["float32", "int32"]


@pytest.mark.parametrize(
    "data", [X, [X], [X, Y[:3]], {"image": X}, [Y, X], "words", [X, np.array([["a", "b"]] * 6)]]
)
def test_what_does_not_fit_is_nothing(data):
    assert fit_inputs([IMAGE, SIZE], data) is None


def test_an_axis_of_one_is_added_and_taken_away():
    assert IMAGE.fitted(X[..., 0]).shape == (6, 4, 4, 1)
    assert SIZE.fitted(Y[..., None]).shape == (6, 2)


def test_labels_are_dropped_where_they_follow():
    assert len(drop_labels([IMAGE], (X, np.arange(6)))) == 1
    assert len(drop_labels([IMAGE], X)) == 1


def test_single_samples_are_told_from_others():
    assert "put them into batches" in str(misfit_error([IMAGE], X[0]))
    assert "it takes 'image' (…, 4, 4, 1), and (6, 2) came" in str(misfit_error([IMAGE], Y))


def test_data_are_described_in_a_few_words():
    assert describe_data({"a": X}) == "a dict with 'a' (6, 4, 4, 1)"
    assert describe_data([X, "b"]) == "a list of (6, 4, 4, 1), str"
    assert describe_data(()) == "a tuple of nothing"
    assert describe_data(np.array(["a"])) == "(1) of dtype <U1"


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("build", models.ALL, ids=lambda build: build.__name__)
def test_the_outputs_are_those_of_the_model(build):
    model = build()
    graph = graph_of(model)
    data = models.data_for(model)
    samples = samples_of(graph, data)
    batches = list(iterate_activations(graph, graph.outputs, samples, batch=5))
    assert [len(next(iter(batch.values()))) for batch in batches] == [5, 5, 2]
    expected = models.results(model, data, training=False)
    for tensor, theirs in zip(graph.outputs, expected, strict=True):
        ours = np.concatenate([batch[tensor] for batch in batches])
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_inner_tensors_are_those_of_the_layers():
    import keras

    model = models.residual()
    graph = graph_of(model)
    samples = samples_of(graph, models.data_for(model))
    tensors = [graph.call_named(name).outputs[0] for name in ("conv_a", "add")]
    (batch,) = iterate_activations(model, tensors, samples)
    for tensor, name in zip(tensors, ("conv_a", "add"), strict=True):
        inner = keras.Model(model.input, model.get_layer(name).output)
        np.testing.assert_allclose(batch[tensor], inner(samples.arrays[0]), atol=1e-5)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_a_layer_that_got_new_weights_on_the_way_uses_them():
    model = copied(models.residual())
    graph = graph_of(model)
    samples = samples_of(graph, models.data_for(model))
    call, last = graph.call_named("conv_b"), graph.outputs[0]
    running = LayerRun(graph, samples, [call.inputs[0], last], batch=5)
    before = running.until(call.inputs[0])
    assert before.shape == (12, 8, 8, 8)
    call.layer.set_weights([np.zeros_like(w) for w in call.layer.get_weights()])
    np.testing.assert_allclose(running.until(last), model(samples.arrays[0]), atol=1e-5)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_only_what_is_still_needed_is_kept():
    graph = graph_of(models.residual())
    samples = samples_of(graph, np.zeros((2, 8, 8, 3)))
    shortcut, conv = graph.call_named("stem_act").outputs[0], graph.call_named("conv_a")
    running = LayerRun(graph, samples, [conv.outputs[0], graph.outputs[0]])
    running.until(conv.outputs[0])
    assert set(running._values[0]) == {shortcut, conv.outputs[0]}
    running.until(graph.outputs[0])
    assert running._values[0] == {}


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_what_was_not_announced_is_not_there():
    graph = graph_of(models.residual())
    samples = samples_of(graph, np.zeros((2, 8, 8, 3)))
    running = LayerRun(graph, samples, [graph.outputs[0]])
    with pytest.raises(UsageError, match="The tensor 3 is not there: name it in `wanted`"):
        running.until(3)
    running.until(graph.outputs[0])
    with pytest.raises(UsageError, match="as often as you ask"):
        running.until(graph.outputs[0])


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_nothing_sticks_to_the_layers_of_the_model():
    import keras

    x = keras.Input((3,))
    y = keras.layers.Dense(4, activity_regularizer="l2")(x)
    y = keras.layers.Dropout(0.5)(keras.layers.BatchNormalization()(y), training=True)
    model = keras.Model(x, y)
    before = [np.asarray(variable).copy() for variable in model.variables]
    graph = graph_of(model)
    list(iterate_activations(graph, graph.outputs, samples_of(graph, np.ones((4, 3)))))
    assert model.losses == []
    for variable, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(variable, value)


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_as_many_samples_as_fit_are_kept():
    graph = graph_of(models.residual())
    samples = samples_of(graph, np.zeros((20, 8, 8, 3)))
    # The most is alive at the addition: both branches and the sum, 8×8×8 values of 4 bytes each.
    needed_bytes = 3 * 8 * 8 * 8 * 4
    assert len(affordable_samples(graph, samples, 7 * needed_bytes)) == 7
    assert len(affordable_samples(graph, samples, 7 * needed_bytes - 1)) == 6
    assert len(affordable_samples(graph, samples, 1)) == 1
    assert len(affordable_samples(graph, samples)) == 20


@pytest.mark.loads_tf
@pytest.mark.usefixtures("tf")
def test_open_sizes_are_those_of_the_samples():
    import keras

    x = keras.Input((None, None, 1), dtype="bfloat16")
    graph = graph_of(keras.Model(x, keras.layers.ReLU(dtype="bfloat16")(x)))
    samples = samples_of(graph, np.zeros((9, 5, 4, 1)))
    assert len(affordable_samples(graph, samples, 3 * 2 * 20 * 2)) == 3
