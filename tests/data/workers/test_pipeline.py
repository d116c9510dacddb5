import gc
import os
import sys
import warnings

import numpy as np
import psutil
import pytest

from quickfit.data import generator
from quickfit.errors import PipelineError, UsageError

pytestmark = pytest.mark.loads_tf


def image(item):
    return np.full((8, 6, 3), item % 256, np.uint8), item % 3


def sometimes_fails(item):
    if item == 17:
        raise OSError("no such photograph")
    return image(item)


@pytest.fixture
def model(tf):
    """Return a small model that can be fitted to `image`."""
    import keras

    keras.utils.set_random_seed(1)
    layers = [keras.layers.Rescaling(1 / 255), keras.layers.Flatten(), keras.layers.Dense(3)]
    model = keras.Sequential([keras.Input((8, 6, 3)), *layers])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss)
    return model


def fitted(model, dataset, epochs=1):
    """Fit and return the losses; Keras warns of `shuffle`, and of lengths it does not know."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(shuffle=True|ran out of data).*")
        return model.fit(dataset, epochs=epochs, verbose=0).history["loss"]


@pytest.fixture(scope="module")
def images(tf):
    """Return a dataset of 30 images from two processes."""
    dataset = generator(image, 30, workers=2, kind="processes", batch=8)
    yield dataset
    dataset.close()


def test_it_is_a_dataset_that_people_can_read(tf, images):
    assert isinstance(images, tf.data.Dataset)
    assert repr(images) == (
        "<generator `image`: 30 items, batches of 8, in order; each 0: uint8 [8, 6, 3],"
        " 1: int64 []; 2 processes (as asked); what the function uses is copied when the workers"
        " start>"
    )


def test_shapes_and_length_are_known(tf, images):
    assert images.element_spec == (
        tf.TensorSpec((None, 8, 6, 3), tf.uint8),
        tf.TensorSpec((None,), tf.int64),
    )
    assert len(images) == 4


def test_batches_are_what_the_function_gave(images):
    got = [(x[:, 0, 0, 0].tolist(), y.tolist()) for x, y in images.as_numpy_iterator()]
    assert [item for x, _ in got for item in x] == list(range(30))
    assert [label for _, y in got for label in y] == [item % 3 for item in range(30)]
    assert [len(x) for x, _ in got] == [8, 8, 8, 6]


@pytest.mark.parametrize("kind", ["processes", "threads"])
def test_tensors_that_are_kept_keep_their_values(kind):
    def large(item):
        return np.full((100, 100, 3), item, np.uint8)

    dataset = generator(large, 96, workers=2, kind=kind, batch=8)
    kept, cached = list(dataset), dataset.cache()
    for _ in range(3):
        kept += list(cached)
    got = np.concatenate([tensor.numpy()[:, 0, 0, 0] for tensor in kept])
    assert all((tensor.numpy().reshape(8, -1).std(axis=1) == 0).all() for tensor in kept)
    assert got.tolist() == list(range(96)) * 4
    dataset.close()


def test_a_model_learns_from_it(model, images):
    first, second = fitted(model, images, epochs=2)
    assert second < first


def test_it_can_be_repeated_mapped_zipped_and_dropped_at_any_time(tf, images):
    assert sum(1 for _ in images.repeat(3)) == 12
    both = tf.data.Dataset.zip(images, images.map(lambda x, y: (x, y + 1)))
    assert all((a[1].numpy() + 1 == b[1].numpy()).all() for a, b in both)
    workers = len(psutil.Process().children())
    for _ in range(20):
        next(iter(images))
    gc.collect()
    assert len(psutil.Process().children()) == workers


def test_workers_end_with_their_dataset(tf):
    before = psutil.Process().children()
    dataset = generator(image, 30, workers=1, kind="processes", batch=8)
    mapped = dataset.map(lambda x, y: y)
    del dataset
    gc.collect()
    assert len(list(mapped)) == 4
    del mapped
    gc.collect()
    assert psutil.Process().children() == before


def test_an_error_inside_fit_shows_item_and_line(tf, model):
    dataset = generator(sometimes_fails, 40, workers=1, kind="processes", batch=8)
    with pytest.raises(tf.errors.UnknownError) as failed:
        fitted(model, dataset)
    text = str(failed.value)
    assert "`sometimes_fails` failed on item 17: OSError: no such photograph" in text
    assert 'raise OSError("no such photograph")' in text
    assert 'on_error="skip"' in text


def test_what_was_left_out_is_listed_on_the_dataset(model):
    dataset = generator(sometimes_fails, 40, kind="threads", batch=8, on_error="skip")
    with pytest.warns(UserWarning, match="1 of 40 items were left out"):
        fitted(model, dataset)
    (skipped,) = dataset.skipped
    assert (skipped.number, skipped.error) == (17, "OSError: no such photograph")


def test_the_last_batch_can_be_dropped_for_a_fixed_shape(tf):
    dataset = generator(image, 30, kind="threads", batch=8, drop_remainder=True)
    assert dataset.element_spec[1] == tf.TensorSpec((8,), tf.int64)
    assert len(list(dataset)) == len(dataset) == 3


def test_results_of_any_shape_can_be_padded(tf):
    dataset = generator(lambda n: np.arange(n), [3, 1, 2], kind="threads", batch=None)
    assert dataset.element_spec == tf.TensorSpec((None,), tf.int64)
    (batch,) = dataset.padded_batch(3)
    assert batch.numpy().tolist() == [[0, 1, 2], [0, 0, 0], [0, 1, 0]]


def test_dicts_and_texts_keep_their_names(tf):
    dataset = generator(lambda n: {"n": n, "text": f"n{n}"}, 3, kind="threads", batch=2)
    assert dataset.element_spec["text"] == tf.TensorSpec((None,), tf.string)
    first, _ = dataset.as_numpy_iterator()
    assert first["text"].tolist() == [b"n0", b"n1"]


def test_a_signature_is_kept_and_nothing_is_called_for_it(tf):
    called = []

    def seen(item):
        called.append(item)
        return item, "a"

    signature = (tf.TensorSpec((), tf.uint8), tf.TensorSpec((), tf.string))
    dataset = generator(seen, 3, workers=1, kind="threads", batch=2, signature=signature)
    assert called == []
    first, _ = dataset.as_numpy_iterator()
    assert first[0].dtype == np.uint8
    assert first[0].tolist() == [0, 1]


def test_a_signature_that_leaves_lengths_open_needs_single_results(tf):
    spec = tf.TensorSpec((None, 3), tf.uint8)
    with pytest.raises(UsageError, match="leaves a length open, and a batch needs equal shapes"):
        generator(image, 3, signature=spec)
    with pytest.raises(UsageError, match=r"is no tf\.TensorSpec with a known number"):
        generator(image, 3, signature=tf.TensorSpec(None, tf.uint8))


def test_a_type_that_tensorflow_does_not_have_is_refused(tf):
    with pytest.raises(UsageError, match="TensorFlow has no type for float128"):
        generator(lambda n: np.longdouble(n), 3, kind="threads")


def test_a_dataset_is_no_function(tf):
    with pytest.raises(UsageError, match="it is one already"):
        generator(tf.data.Dataset.range(3))


def test_a_function_that_holds_tensorflow_objects_stays_here(tf):
    pipeline = tf.data.Dataset.range(3)

    def reads(item):
        return len(pipeline) + item

    assert "`pipeline`, which `reads` uses," in repr(generator(reads, 3))


def test_the_first_failure_is_raised_as_it_is(tf):
    with pytest.raises(PipelineError, match="failed on item 0: ZeroDivisionError"):
        generator(lambda n: 1 / n, 3)


@pytest.fixture
def batches(tf):
    """Return a Keras PyDataset that shuffles its own indexes after each epoch."""
    import keras

    class Batches(keras.utils.PyDataset):
        def __init__(self, **options):
            super().__init__(**options)
            self.indexes = np.arange(21)

        def __len__(self):
            return 3

        def __getitem__(self, number):
            assert "tensorflow" not in sys.modules or os.getpid() == here
            chosen = self.indexes[number * 8 : (number + 1) * 8]
            return np.stack([image(item)[0] for item in chosen]), chosen % 3

        def on_epoch_end(self):
            np.random.default_rng().shuffle(self.indexes)

    here = os.getpid()
    return Batches()


@pytest.mark.parametrize("kind", ["processes", "threads"])
def test_a_py_dataset_keeps_every_example_though_it_shuffles(batches, kind):
    dataset = generator(batches, workers=2, kind=kind)
    epochs = [
        [item for x, _ in dataset.as_numpy_iterator() for item in x[:, 0, 0, 0].tolist()]
        for _ in range(3)
    ]
    assert [sorted(epoch) for epoch in epochs] == [list(range(21))] * 3
    assert epochs[0] != epochs[1] != epochs[2]
    dataset.close()


def test_a_py_dataset_can_be_fitted(model, batches):
    dataset = generator(batches, workers=2, kind="processes")
    assert "<generator `Batches`: 3 batches of its own" in repr(dataset)
    assert fitted(model, dataset)[0] > 0


@pytest.mark.parametrize("given", [{"batch": 8}, {"items": 3}, {"drop_remainder": True}])
def test_a_py_dataset_makes_its_own_batches(batches, given):
    with pytest.raises(UsageError, match="Batches makes its own batches"):
        generator(batches, **given)
