import hashlib
import itertools
import threading
from contextlib import closing

import pytest

from quickfit.data.entries import Entry, Reason, SourceImageError
from quickfit.data.packing.lookahead import ahead, hashed

GONE = SourceImageError(Reason.VANISHED, "it is gone")


def entries(number, size=1000):
    return [Entry(f"{position:04d}", 0, size, "") for position in range(number)]


@pytest.mark.parametrize("number", [0, 1, 3, 4, 5, 100])
def test_everything_comes_once_and_in_order(number):
    listed = entries(number)
    found = list(ahead(listed, lambda entry: entry.name * 2, 3))
    assert found == [(entry, entry.name * 2) for entry in listed]


def test_what_work_raises_comes_when_its_entry_does():
    def work(entry):
        if entry.name == "0050":
            raise KeyError(entry.name)
        return 1

    seen = []
    with pytest.raises(KeyError, match="0050"):
        seen.extend(entry for entry, _ in ahead(entries(100), work, 3))
    assert not any(thread.name.startswith("ThreadPool") for thread in threading.enumerate())


def test_threads_end_when_nobody_goes_on():
    with closing(ahead(entries(1000), lambda entry: 1, 3)) as results:
        next(results)
    assert not any(thread.name.startswith("ThreadPool") for thread in threading.enumerate())


def most_ahead(number, size):
    """Return how many were worked on at most before the one that was taken."""
    worked, most = [], 0
    for taken, _ in enumerate(ahead(entries(number, size), worked.append, 2), 1):
        most = max(most, len(worked) - taken)
    return most


def test_only_a_few_are_worked_on_ahead():
    assert most_ahead(400, 1000) <= 16


def test_large_images_do_not_wait_in_memory():
    assert most_ahead(40, 100_000_000) <= 1


def read(entry):
    return GONE if entry.name == "0007" else entry.name.encode()


@pytest.mark.parametrize("count", [0, 1, 16, 100])
def test_each_image_comes_with_its_hash_in_order(count):
    made = list(hashed(entries(count), read))
    assert [entry.name for entry, _, _ in made] == [entry.name for entry in entries(count)]
    for _entry, content, digest in made:
        expected = b"" if content is GONE else hashlib.sha256(content).digest()
        assert digest == expected


@pytest.mark.parametrize(
    ("a_read_s", "is_far"),
    [pytest.param(2e-5, False, id="near"), pytest.param(0.1, True, id="far")],
)
def test_files_that_are_far_away_are_read_by_several_threads(a_read_s, is_far):
    threads = set()

    def noted(entry):
        threads.add(threading.current_thread())
        return read(entry)

    ticks = itertools.count()
    made = list(hashed(entries(100), noted, clock=lambda: next(ticks) * 16 * a_read_s))
    assert len(made) == 100
    assert (threads != {threading.current_thread()}) == is_far
