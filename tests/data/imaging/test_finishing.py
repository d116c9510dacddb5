"""Scaling, dtypes and the user's augmentation, on batches after the cache."""

import numpy as np
import pytest

from quickfit.data import images
from quickfit.errors import UsageError

from photos import folder

pytestmark = pytest.mark.loads_tf


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    path = tmp_path_factory.mktemp("animals")
    folder(path, {"cat": 3, "dog": 3}, size=(30, 40))
    return path


def one_batch(animals, **options):
    dataset = images(animals, size=16, batch=6, shuffle=False, cache=None, **options)
    ((batch, labels),) = dataset.as_numpy_iterator()
    return batch, labels


@pytest.fixture(scope="module")
def plain(tf, animals):
    return one_batch(animals)[0].astype(np.float64)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-6), ("float16", 1e-3), ("bfloat16", 1e-2)]
)
def test_floats_are_scaled_to_one(tf, animals, plain, dtype, tolerance):
    batch, _ = one_batch(animals, dtype=dtype)

    assert batch.dtype.name == dtype
    assert abs(batch.astype(np.float64) - plain / 255).max() <= tolerance


def test_black_and_white_become_what_was_asked_for(tf, animals, plain):
    batch, _ = one_batch(animals, dtype="float32", scale=(-1, 1))

    assert abs(batch - (plain / 127.5 - 1)).max() < 1e-6


def test_a_function_of_the_images_is_applied(tf, animals, plain):
    batch, labels = one_batch(animals, augment=tf.image.flip_left_right)

    assert np.array_equal(batch, plain[:, :, ::-1])
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_a_function_of_images_and_labels_may_change_both(tf, animals, plain):
    def reverse(batch, labels):
        if tf.shape(batch)[0] > 0:  # as people write it: AutoGraph makes a graph of it
            batch = batch[::-1]
        return batch, labels[::-1]

    batch, labels = one_batch(animals, augment=reverse)

    assert np.array_equal(batch, plain[::-1])
    assert labels.tolist() == [1, 1, 1, 0, 0, 0]


def test_a_layer_is_called_as_in_training(tf, animals, plain):
    import keras

    flip = keras.Sequential([keras.layers.RandomFlip("horizontal", seed=1)])

    batch, _ = one_batch(animals, augment=flip)

    assert batch.dtype == np.uint8
    is_flipped = [not np.array_equal(*pair) for pair in zip(batch, plain, strict=True)]
    assert any(is_flipped)


def test_the_result_has_the_dtype_of_the_dataset(tf, animals, plain):
    batch, _ = one_batch(animals, augment=lambda batch: tf.cast(batch, tf.float32) * 1.5 + 0.4)

    assert batch.dtype == np.uint8
    assert abs(batch - np.clip(plain * 1.5 + 0.4, 0, 255)).max() <= 0.5


def test_augmentation_comes_after_the_cache(tf, animals):
    tf.random.set_seed(None)  # another test may have set one, and then every pass draws the same

    def noise(batch):
        return tf.cast(tf.random.uniform(tf.shape(batch), 0, 256, tf.int32), tf.uint8)

    dataset = images(animals, size=16, batch=6, shuffle=False, cache="memory", augment=noise)
    epochs = [next(iter(dataset))[0].numpy().tobytes() for _ in range(3)]

    assert len(set(epochs)) == 3


def test_a_function_that_takes_a_seed_gets_one_for_every_batch(tf, animals):
    def noise(batch, seed):
        noise = tf.random.stateless_uniform(tf.shape(batch), seed, 0, 256, tf.int32)
        return tf.cast(noise, tf.uint8)

    def two_epochs():
        dataset = images(animals, size=16, batch=3, seed=4, augment=noise)
        return [[batch.numpy().tobytes() for batch, _ in dataset] for _ in range(2)]

    first, second = two_epochs(), two_epochs()

    assert first == second
    assert len({batch for epoch in first for batch in epoch}) == 4


@pytest.mark.parametrize(
    ("augment", "told"),
    [
        (lambda batch, labels: batch, "so it must return both"),
        (lambda batch: None, "the function returned None; let it return the batch"),
        (lambda batch: batch[0], "The function gets a batch and must return a batch"),
    ],
)
def test_a_function_that_returns_something_else_is_told(tf, animals, augment, told):
    with pytest.raises(UsageError) as error:
        one_batch(animals, augment=augment)

    assert told in str(error.value)


def test_a_function_that_loses_images_is_told(tf, animals):
    with pytest.raises(tf.errors.InvalidArgumentError, match="changed the number of images"):
        one_batch(animals, augment=lambda batch: batch[:2])


def test_a_function_of_labels_needs_labels(tf, animals):
    def both(batch, labels):
        return batch, labels

    with pytest.raises(UsageError, match=r"augment=both.*this dataset has no labels"):
        images(sorted(animals.rglob("*.jpg")), size=16, augment=both)


def test_a_function_of_too_many_arguments_is_told_which_it_may_take(tf, animals):
    def three(images, labels, seed, other):
        return images

    with pytest.raises(
        UsageError, match=r"augment=three.*needs images, labels, seed, other\. It may"
    ):
        images(animals, size=16, augment=three)
