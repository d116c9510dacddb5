"""A trial does not write the user's cache files."""

import pytest

from quickfit.tuning.trials import caches

pytestmark = pytest.mark.loads_tf


@pytest.fixture
def folders(tf, tmp_path, monkeypatch):
    monkeypatch.setattr(tf.data.Dataset, "cache", tf.data.Dataset.cache)
    theirs, scratch = tmp_path / "theirs", tmp_path / "scratch"
    theirs.mkdir()
    scratch.mkdir()
    caches.redirect(scratch)
    return theirs, scratch


def test_a_cache_that_is_not_there_is_written_to_scratch(tf, folders):
    theirs, scratch = folders
    assert len(list(tf.data.Dataset.range(5).cache(str(theirs / "mine")))) == 5
    assert not list(theirs.iterdir())
    assert list(scratch.iterdir())


def test_a_complete_cache_is_read(tf, folders, tmp_path):
    theirs, _ = folders
    written = tf.data.Dataset.range(5).cache.__func__
    list(tf.data.Dataset.range(5).cache(theirs / "mine"))
    assert written is tf.data.Dataset.cache
    made = next(iter(folders[1].glob("cache-0.index")))
    for file in folders[1].iterdir():
        file.rename(theirs / file.name.replace("cache-0", "mine"))
    assert made.name == "cache-0.index"
    # Other numbers: what comes is what the file has.
    found = [int(n) for n in tf.data.Dataset.range(10, 15).cache(str(theirs / "mine"))]
    assert found == [0, 1, 2, 3, 4]


def test_a_cache_in_memory_stays_one(tf, folders):
    assert len(list(tf.data.Dataset.range(5).cache())) == 5
    assert not list(folders[1].iterdir())
