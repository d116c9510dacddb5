"""Labels, shapes and lengths over several epochs, with real files."""

import pytest

from quickfit.data import images

from photos import folder

pytestmark = pytest.mark.loads_tf


@pytest.fixture
def animals(tmp_path):
    """Return a folder of class folders that a test may change."""
    folder(tmp_path, {"cat": 6, "dog": 4}, size=(30, 40))
    return tmp_path


def test_labels_stay_with_their_images(tf, animals):
    ordered = images(animals, size=16, shuffle=False, batch=10, cache=None)
    ((batch, labels),) = ordered.as_numpy_iterator()
    label_of = {image.tobytes(): int(label) for image, label in zip(batch, labels, strict=True)}
    assert labels.tolist() == [0] * 6 + [1] * 4
    policy = ordered.options().experimental_distribute.auto_shard_policy
    assert policy == tf.data.experimental.AutoShardPolicy.DATA

    shuffled = images(animals, size=16, batch=3, cache="memory")

    for _ in range(2):
        for batch, labels in shuffled.as_numpy_iterator():
            for image, label in zip(batch, labels, strict=True):
                assert label_of[image.tobytes()] == label


def test_a_batch_that_is_not_full_can_be_left_out(tf, animals):
    dataset = images(animals, size=16, batch=4, drop_remainder=True)

    assert dataset.element_spec[0].shape == (4, 16, 16, 3)
    for _ in range(2):
        assert [len(labels) for _, labels in dataset] == [4, 4]
    assert len(dataset) == 2


def test_it_can_go_on_forever(tf, animals):
    dataset = images(animals, size=16, batch=4, repeat=True)

    assert dataset.cardinality() == tf.data.INFINITE_CARDINALITY
    batches = list(dataset.take(7).as_numpy_iterator())
    assert [len(labels) for _, labels in batches] == [4, 4, 2, 4, 4, 2, 4]
    first, second = (
        sorted(image.tobytes() for batch, _ in part for image in batch)
        for part in (batches[:3], batches[3:6])
    )
    assert first == second
