"""Scaling, dtypes and the user's augmentation, on batches after the cache."""

import numpy as np
import pytest

import quickfit.data as data
from quickfit.data import images
from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.faults import RecordFaults, without_gaps
from quickfit.data.finishing import (
    describe_dataset,
    format_classes,
    format_elements,
    set_known_length,
)
from quickfit.data.options import PipelineOptions
from quickfit.errors import UsageError

from photos import folder


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


@pytest.mark.loads_tf
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-6), ("float16", 1e-3), ("bfloat16", 1e-2)]
)
def test_floats_are_scaled_to_one(tf, animals, plain, dtype, tolerance):
    batch, _ = one_batch(animals, dtype=dtype)

    assert batch.dtype.name == dtype
    assert abs(batch.astype(np.float64) - plain / 255).max() <= tolerance


@pytest.mark.loads_tf
def test_black_and_white_become_what_was_asked_for(tf, animals, plain):
    batch, _ = one_batch(animals, dtype="float32", scale=(-1, 1))

    assert abs(batch - (plain / 127.5 - 1)).max() < 1e-6


@pytest.mark.loads_tf
def test_a_function_of_the_images_is_applied(tf, animals, plain):
    batch, labels = one_batch(animals, augment=tf.image.flip_left_right)

    assert np.array_equal(batch, plain[:, :, ::-1])
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.loads_tf
def test_a_function_of_images_and_labels_may_change_both(tf, animals, plain):
    def reverse(batch, labels):
        if tf.shape(batch)[0] > 0:  # as people write it: AutoGraph makes a graph of it
            batch = batch[::-1]
        return batch, labels[::-1]

    batch, labels = one_batch(animals, augment=reverse)

    assert np.array_equal(batch, plain[::-1])
    assert labels.tolist() == [1, 1, 1, 0, 0, 0]


@pytest.mark.loads_tf
def test_a_layer_is_called_as_in_training(tf, animals, plain):
    import keras

    flip = keras.Sequential([keras.layers.RandomFlip("horizontal", seed=1)])

    batch, _ = one_batch(animals, augment=flip)

    assert batch.dtype == np.uint8
    is_flipped = [not np.array_equal(*pair) for pair in zip(batch, plain, strict=True)]
    assert any(is_flipped)


@pytest.mark.loads_tf
def test_the_result_has_the_dtype_of_the_dataset(tf, animals, plain):
    batch, _ = one_batch(animals, augment=lambda batch: tf.cast(batch, tf.float32) * 1.5 + 0.4)

    assert batch.dtype == np.uint8
    assert abs(batch - np.clip(plain * 1.5 + 0.4, 0, 255)).max() <= 0.5


@pytest.mark.loads_tf
def test_augmentation_comes_after_the_cache(tf, animals):
    tf.random.set_seed(None)  # another test may have set one, and then every pass draws the same

    def noise(batch):
        return tf.cast(tf.random.uniform(tf.shape(batch), 0, 256, tf.int32), tf.uint8)

    dataset = images(animals, size=16, batch=6, shuffle=False, cache="memory", augment=noise)
    epochs = [next(iter(dataset))[0].numpy().tobytes() for _ in range(3)]

    assert len(set(epochs)) == 3


@pytest.mark.loads_tf
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


@pytest.mark.loads_tf
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


@pytest.mark.loads_tf
def test_a_function_that_loses_images_is_told(tf, animals):
    with pytest.raises(tf.errors.InvalidArgumentError, match="changed the number of images"):
        one_batch(animals, augment=lambda batch: batch[:2])


@pytest.mark.loads_tf
def test_a_function_of_labels_needs_labels(tf, animals):
    def both(batch, labels):
        return batch, labels

    with pytest.raises(UsageError, match=r"augment=both.*this dataset has no labels"):
        images(sorted(animals.rglob("*.jpg")), size=16, augment=both)


@pytest.mark.loads_tf
def test_a_function_of_too_many_arguments_is_told_which_it_may_take(tf, animals):
    def three(images, labels, seed, other):
        return images

    with pytest.raises(
        UsageError, match=r"augment=three.*needs images, labels, seed, other\. It may"
    ):
        images(animals, size=16, augment=three)


def options(**values):
    names = PipelineOptions.__dataclass_fields__
    return PipelineOptions(**dict.fromkeys(names) | {"batch": 4, "drop_remainder": False} | values)


@pytest.mark.loads_tf
@pytest.mark.parametrize(("count", "whole", "all_of_them"), [(8, 2, 2), (9, 2, 3), (3, 0, 1)])
def test_a_last_batch_counts_unless_it_is_dropped(count, whole, all_of_them):
    assert options(drop_remainder=True).steps(count) == whole
    assert options().steps(count) == all_of_them


def sizes(dataset):
    return [len(first) for first, _ in dataset]


@pytest.mark.loads_tf
def test_a_batch_that_lost_everything_is_left_out(tf):
    batches = tf.data.Dataset.from_tensor_slices([4, 0, 3]).map(
        lambda size: (tf.range(size), tf.range(size))
    )
    assert sizes(without_gaps(batches, options(), RecordFaults(skips=True), 7)) == [4, 3]


@pytest.mark.loads_tf
def test_batches_that_must_be_full_are_filled_up(tf):
    batches = tf.data.Dataset.from_tensor_slices([4, 0, 3, 4]).map(
        lambda size: (tf.range(size), tf.range(size))
    )
    assert sizes(
        without_gaps(batches, options(drop_remainder=True), RecordFaults(skips=True), 11)
    ) == [
        4,
        4,
    ]


@pytest.mark.loads_tf
@pytest.mark.parametrize("drop_remainder", [False, True])
def test_a_pass_that_lost_everything_is_an_error(tf, drop_remainder):
    faults = RecordFaults(skips=True)
    faults.note("a.tfrecord, record 0", SourceImageError(Reason.CORRUPT, "it is odd"), "")
    batches = tf.data.Dataset.from_tensor_slices([0, 0]).map(
        lambda size: (tf.range(size), tf.fill([size], "text"))
    )
    dataset = without_gaps(batches, options(drop_remainder=drop_remainder), faults, 1234)
    with pytest.raises(tf.errors.OpError) as caught:
        list(dataset)
    assert "none of the 1,234 records can be used; the first is\n" in str(caught.value)
    assert "a.tfrecord, record 0: corrupt: it is odd" in str(caught.value)


@pytest.mark.loads_tf
def test_tensorflow_does_not_divide_what_is_a_share_already(tmp_path, tf):
    from record_files import packed

    pack = packed(tmp_path, classes={"cat": 4, "dog": 3})
    policies = tf.data.experimental.AutoShardPolicy
    found = [
        data.records(pack, shard=shard).options().experimental_distribute.auto_shard_policy
        for shard in (None, (0, 2))
    ]
    assert found == [policies.DATA, policies.OFF]


def test_classes_are_listed_with_their_counts():
    assert format_classes(["cat", "dog"], [6, 4]) == " in 2 classes (cat 6, dog 4)"
    assert format_classes(["cat"], [1]) == " in 1 class (cat 1)"
    assert format_classes([], []) == " without labels"


def test_many_classes_are_cut_short():
    names = [f"class{number}" for number in range(200)]

    text = format_classes(names, [1] + [0] * 199)

    assert text == (
        " in 200 classes (class0 1, class1 0, class2 0, class3 0, class4 0, class5 0, …)"
    )


@pytest.mark.loads_tf
def test_it_stays_a_dataset_and_says_what_it_is(tf):
    plain = tf.data.Dataset.range(10).batch(4)
    dataset = describe_dataset(plain, lambda _: "<ten numbers>", class_names=["a"])
    assert dataset is plain
    assert isinstance(dataset, tf.data.Dataset)
    assert repr(dataset) == str(dataset) == "<ten numbers>"
    assert dataset.class_names == ["a"]
    assert len(dataset) == 3
    assert "ten numbers" not in repr(tf.data.Dataset.range(10).batch(4))
    assert "ten numbers" not in repr(dataset.map(lambda x: x))


@pytest.mark.loads_tf
def test_a_length_can_be_told_that_tensorflow_does_not_check(tf):
    dataset = tf.data.Dataset.range(10).filter(lambda x: x > 5)
    assert len(set_known_length(dataset, 10)) == 10
    assert [int(x) for x in dataset] == [6, 7, 8, 9]


@pytest.mark.loads_tf
def test_elements_are_told_by_shape_and_type(tf):
    pair = tf.data.Dataset.from_tensors((tf.zeros((2, 3)), tf.constant(1))).batch(4)
    assert format_elements(pair) == "(?, 2, 3) float32 and (?,) int32"
    ragged = tf.data.Dataset.from_tensors(tf.ragged.constant([[1], [2, 3]]))
    assert format_elements(ragged) == "(2, ?) int32"
