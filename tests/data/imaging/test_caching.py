"""Later epochs come from the cache, in orders of their own, and it goes with the dataset."""

import gc
import weakref

import pytest

from quickfit.data import images

from photos import folder

pytestmark = pytest.mark.loads_tf


@pytest.fixture
def animals(tmp_path):
    """Return a folder of class folders that a test may change."""
    folder(tmp_path, {"cat": 6, "dog": 4}, size=(30, 40))
    return tmp_path


def pictures(dataset):
    """Return the images of an epoch, each as bytes, in their order."""
    return [image.tobytes() for batch, _ in dataset.as_numpy_iterator() for image in batch]


@pytest.mark.parametrize("cache", [None, "memory", "disk"])
def test_epochs_have_the_same_images_in_another_order(tf, animals, cache):
    dataset = images(animals, size=16, batch=4, cache=cache, seed=5)

    epochs = [pictures(dataset) for _ in range(4)]

    assert len(set(epochs[0])) == 10
    assert all(sorted(epoch) == sorted(epochs[0]) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4
    if cache is None:
        return
    # The same seed gives the same batches, with and without a cache.
    again = images(animals, size=16, batch=4, seed=5, cache=None)
    assert [pictures(again) for _ in range(2)] == epochs[:2]
    # Later epochs do not read the files.
    for file in animals.rglob("*.jpg"):
        file.unlink()
    assert sorted(pictures(dataset)) == sorted(epochs[0])


def test_a_look_at_one_batch_harms_nothing(tf, animals):
    dataset = images(animals, size=16, batch=4, cache="disk")
    open_iterator = iter(dataset)
    next(open_iterator)
    for _ in dataset.take(1):
        pass

    epochs = [pictures(dataset) for _ in range(3)]

    assert [len(set(epoch)) for epoch in epochs] == [10, 10, 10]


def test_what_is_cached_goes_with_the_dataset(tf, animals):
    dataset = images(animals, size=16, batch=4, cache="memory")
    shelf = weakref.ref(dataset._quickfit_shelf)
    made_of_it = dataset.map(lambda batch, labels: (batch, labels)).prefetch(1)
    del dataset
    gc.collect()

    first = pictures(made_of_it)
    for file in animals.rglob("*.jpg"):
        file.unlink()
    assert sorted(pictures(made_of_it)) == sorted(first)

    del made_of_it
    gc.collect()
    assert shelf() is None
