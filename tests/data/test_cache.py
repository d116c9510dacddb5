"""Where decoded images are cached follows from what is free."""

import errno
import gc
import resource
import tempfile
import weakref
from pathlib import Path

import numpy as np
import pytest

from quickfit.data import images
from quickfit.data.cache import (
    CachedReader,
    FileShelf,
    ImageCache,
    MemoryShelf,
    find_cache_place,
    free_disk_bytes,
)
from quickfit.errors import PipelineError, UsageError

from open_files import open_below
from photos import folder


def test_a_little_is_kept_in_memory():
    place = find_cache_place("auto", 1000, function="images")

    assert place.kind == "memory"
    assert place.reason.startswith("cached in memory (1.0 kB of ")


def test_too_much_for_memory_and_disk_is_not_cached():
    place = find_cache_place("auto", 10**18, function="images")

    assert place.kind == "none"
    assert place.reason.startswith("not cached (1,000,000 TB would be needed; ")
    assert "of memory and" in place.reason


@pytest.mark.parametrize("cache", [None, False, "none"])
def test_no_cache_is_no_cache(cache):
    assert find_cache_place(cache, 1000, function="images").reason == "not cached"


def test_memory_and_disk_can_be_asked_for():
    assert find_cache_place("memory", 1000, function="images").kind == "memory"
    assert find_cache_place("disk", 1000, function="images").kind == "disk"
    assert free_disk_bytes(find_cache_place("disk", 1000, function="images").folder) > 0
    assert Path(tempfile.gettempdir()).exists()


def test_more_than_there_is_memory_is_told():
    with pytest.raises(PipelineError) as error:
        find_cache_place("memory", 10**18, function="images")

    assert "the decoded images take 1,000,000 TB, and " in str(error.value)
    assert "Give cache='auto' or cache='disk'" in str(error.value)


@pytest.mark.parametrize("name", ["disk", "folder"])
def test_more_than_there_is_disk_is_told_before_a_folder_is_made(tmp_path, name):
    cache = name if name == "disk" else tmp_path / name
    with pytest.raises(PipelineError) as error:
        find_cache_place(cache, 10**18, function="images")

    assert "the decoded images take 1,000,000 TB, and " in str(error.value)
    assert "are free in " in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_folder_is_made(tmp_path):
    place = find_cache_place(tmp_path / "new", 1000, function="images")

    assert place.folder == str(tmp_path / "new")
    assert Path(place.folder).is_dir()
    assert f"cached in a file in {place.folder}" in place.reason


def test_a_word_is_no_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError) as error:
        find_cache_place("Memory", 1000, function="images")

    assert "cache='Memory'): give 'auto', 'memory', 'disk', a folder, or None" in str(error.value)
    assert "A new folder of that name is cache='./Memory'" in str(error.value)
    assert not list(tmp_path.iterdir())
    assert find_cache_place("./Memory", 1000, function="images").folder == str(tmp_path / "Memory")
    assert find_cache_place("Memory", 1000, function="images").folder == str(tmp_path / "Memory")


@pytest.mark.parametrize("around", ["not_there", "file"])
def test_a_folder_in_a_folder_that_is_not_there_is_told(tmp_path, around):
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError) as error:
        find_cache_place(str(tmp_path / around / "cache"), 1000, function="images")

    assert f"there is no folder {tmp_path / around} to make it in" in str(error.value)
    assert not (tmp_path / "not_there").exists()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(PipelineError, match="cannot be made: File exists"):
        find_cache_place(tmp_path / "file", 1000, function="images")


@pytest.mark.parametrize("cache", [True, 3])
def test_what_is_no_place_is_told(cache):
    with pytest.raises(UsageError, match="give 'auto', 'memory', 'disk', a folder, or None"):
        find_cache_place(cache, 1000, function="images")


SHAPE = (2, 3, 3)


def pictures(count, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, *SHAPE)).astype(np.uint8)


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    shelf = MemoryShelf(6, SHAPE) if request.param == "memory" else FileShelf(str(tmp_path), SHAPE)
    store = ImageCache(shelf, 6)
    store.shelf = shelf  # somebody has to have it
    return store


def test_what_is_kept_can_be_read_in_any_order(store):
    images = pictures(6)
    store.keep(np.array([3, 1, 5]), images[[3, 1, 5]])
    store.keep(np.array([0, 2, 4]), images[[0, 2, 4]])

    assert np.array_equal(store.read(np.array([5, 0, 3, 3])), images[[5, 0, 3, 3]])


def test_it_is_usable_once_every_image_is_kept(store):
    images = pictures(6)
    store.keep(np.arange(5), images[:5])
    assert store.usable(()).tolist() == []

    store.keep(np.arange(3, 6), images[3:])
    assert store.usable(()).tolist() == [0, 1, 2, 3, 4, 5]


def test_it_does_not_wait_for_images_that_are_left_out(store):
    store.keep(np.array([0, 1, 3, 5]), pictures(4))

    assert store.usable({2, 4}).tolist() == [0, 1, 3, 5]


def test_an_image_that_comes_again_takes_no_more_room(store):
    first, second = pictures(6), pictures(6, seed=1)
    store.keep(np.arange(4), first[:4])
    store.keep(np.array([2, 3, 4, 5]), second[2:])

    expected = np.concatenate([first[:4], second[4:]])
    assert np.array_equal(store.read(np.arange(6)), expected)


def test_the_file_has_no_name(tmp_path):
    shelf = FileShelf(str(tmp_path), SHAPE)
    store = ImageCache(shelf, 6)
    store.keep(np.arange(6), pictures(6))

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_grow_turns_the_store_off(tmp_path, capsys):
    shelf = FileShelf(str(tmp_path), SHAPE)
    store = ImageCache(shelf, 6)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30, hard))
    try:
        indices = store.keep(np.arange(6), pictures(6))
        store.keep(np.arange(6), pictures(6))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert indices.tolist() == [0, 1, 2, 3, 4, 5]
    assert store.usable(()).tolist() == []
    told = capsys.readouterr().err
    assert told.count("no more images are cached: File too large") == 1
    assert "training goes on" in told


def test_nothing_is_kept_for_a_dataset_that_is_gone():
    shelf = MemoryShelf(2, SHAPE)
    store = ImageCache(shelf, 2)
    store.keep(np.arange(2), pictures(2))
    del shelf

    assert store.usable(()).tolist() == []
    assert store.keep(np.arange(2), pictures(2)).tolist() == [0, 1]
    with pytest.raises(PipelineError, match="Keep the dataset in a variable"):
        store.read(np.arange(2))


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(PipelineError) as error:
        FileShelf(str(tmp_path / "gone"), SHAPE)

    assert "gone, cannot be written: No such file or directory" in str(error.value)
    assert "cache=None" in str(error.value)


def test_a_file_that_was_cut_is_told(tmp_path):
    file = FileShelf(str(tmp_path), SHAPE)

    with pytest.raises(PipelineError, match="ends at byte 36, although more was written"):
        file.read(np.array([2]))


@pytest.fixture
def animals(tmp_path):
    """Return a folder of class folders that a test may change."""
    folder(tmp_path, {"cat": 6, "dog": 4}, size=(30, 40))
    return tmp_path


def epoch_images(dataset):
    """Return the images of an epoch, each as bytes, in their order."""
    return [image.tobytes() for batch, _ in dataset.as_numpy_iterator() for image in batch]


@pytest.mark.loads_tf
@pytest.mark.parametrize("cache", [None, "memory", "disk"])
def test_epochs_have_the_same_images_in_another_order(tf, animals, cache):
    dataset = images(animals, size=16, batch=4, cache=cache, seed=5)

    epochs = [epoch_images(dataset) for _ in range(4)]

    assert len(set(epochs[0])) == 10
    assert all(sorted(epoch) == sorted(epochs[0]) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4
    if cache is None:
        return
    # The same seed gives the same batches, with and without a cache.
    again = images(animals, size=16, batch=4, seed=5, cache=None)
    assert [epoch_images(again) for _ in range(2)] == epochs[:2]
    # Later epochs do not read the files.
    for file in animals.rglob("*.jpg"):
        file.unlink()
    assert sorted(epoch_images(dataset)) == sorted(epochs[0])


@pytest.mark.loads_tf
def test_a_look_at_one_batch_harms_nothing(tf, animals):
    dataset = images(animals, size=16, batch=4, cache="disk")
    open_iterator = iter(dataset)
    next(open_iterator)
    for _ in dataset.take(1):
        pass

    epochs = [epoch_images(dataset) for _ in range(3)]

    assert [len(set(epoch)) for epoch in epochs] == [10, 10, 10]


@pytest.mark.loads_tf
def test_what_is_cached_goes_with_the_dataset(tf, animals):
    dataset = images(animals, size=16, batch=4, cache="memory")
    shelf = weakref.ref(dataset._quickfit_shelf)
    made_of_it = dataset.map(lambda batch, labels: (batch, labels)).prefetch(1)
    del dataset
    gc.collect()

    first = epoch_images(made_of_it)
    for file in animals.rglob("*.jpg"):
        file.unlink()
    assert sorted(epoch_images(made_of_it)) == sorted(first)

    del made_of_it
    gc.collect()
    assert shelf() is None


@pytest.fixture(params=["memory", "disk"])
def shelf(request, tmp_path):
    return MemoryShelf(4, SHAPE) if request.param == "memory" else FileShelf(str(tmp_path), SHAPE)


def test_images_come_back_in_any_order(shelf):
    images = np.arange(4 * 18, dtype=np.uint8).reshape(4, *SHAPE)
    shelf.write(np.array([2, 0]), images[[2, 0]])
    shelf.write(np.array([3, 1]), images[[3, 1]])
    np.testing.assert_array_equal(shelf.read(np.array([3, 0, 1])), images[[3, 0, 1]])


def test_what_is_kept_does_not_change_with_a_batch_that_was_read(shelf):
    shelf.write(np.array([0, 1]), np.ones((2, *SHAPE), np.uint8))
    shelf.read(np.array([1, 0]))[:] = 9
    assert shelf.read(np.array([1])).max() == 1


def test_nothing_is_left_on_the_disk(tmp_path):
    shelf = FileShelf(str(tmp_path), SHAPE)
    shelf.write(np.array([0]), np.ones((1, *SHAPE), np.uint8))
    assert list(tmp_path.iterdir()) == []
    assert len(open_below(tmp_path)) == 1
    del shelf
    gc.collect()
    assert open_below(tmp_path) == []


OWN = np.array([1, 4, 5, 9, 12])


class Reader:
    """Gives images full of their position; counts what it is asked for."""

    def __init__(self, bad=()):
        self.asked = []
        self.bad = bad

    def read(self, positions):
        self.asked.extend(positions.tolist())
        used = np.array([p for p in positions.tolist() if p not in self.bad], np.int64)
        return np.stack([np.full(SHAPE, p, np.uint8) for p in used]), used


@pytest.mark.parametrize("shelf", ["memory", "disk"])
def test_an_image_is_read_once(tmp_path, shelf):
    room = MemoryShelf(len(OWN), SHAPE) if shelf == "memory" else FileShelf(str(tmp_path), SHAPE)
    reader = Reader()
    kept = CachedReader(reader, ImageCache(room, len(OWN)), OWN)
    for wanted in (OWN, OWN[::-1].copy(), OWN[[1, 3]]):
        images, used = kept.read(wanted)
        assert used.tolist() == wanted.tolist()
        assert images[:, 0, 0, 0].tolist() == wanted.tolist()
    assert reader.asked == OWN.tolist()


def test_what_cannot_be_used_is_asked_for_again_and_never_given():
    reader = Reader(bad=(5,))
    shelf = MemoryShelf(len(OWN), SHAPE)
    kept = CachedReader(reader, ImageCache(shelf, len(OWN)), OWN)
    for _ in range(2):
        images, used = kept.read(OWN)
        assert used.tolist() == [1, 4, 9, 12]
        assert images[:, 0, 0, 0].tolist() == [1, 4, 9, 12]


def test_a_full_disk_ends_the_cache_and_nothing_else(capsys):
    class Full:
        def write(self, indices, images):
            raise OSError(errno.ENOSPC, "No space left on device")

    shelf = Full()
    kept = CachedReader(Reader(), ImageCache(shelf, len(OWN)), OWN)
    for _ in range(2):
        assert kept.read(OWN)[1].tolist() == OWN.tolist()
    told = capsys.readouterr().err
    assert told.count("no more images are cached: No space left on device") == 1


def test_without_the_shelf_images_are_read_again():
    reader, shelf = Reader(), MemoryShelf(len(OWN), SHAPE)
    kept = CachedReader(reader, ImageCache(shelf, len(OWN)), OWN)
    kept.read(OWN)
    del shelf
    assert kept.read(OWN)[1].tolist() == OWN.tolist()
    assert reader.asked == [*OWN.tolist(), *OWN.tolist()]


def test_what_is_kept_does_not_change_with_a_batch_that_was_handed_over():
    shelf = MemoryShelf(len(OWN), SHAPE)
    kept = CachedReader(Reader(), ImageCache(shelf, len(OWN)), OWN)
    kept.read(OWN)[0][:] = 77
    assert kept.read(OWN)[0][:, 0, 0, 0].tolist() == OWN.tolist()
