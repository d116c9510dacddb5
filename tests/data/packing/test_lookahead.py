import threading
from contextlib import closing

import pytest

from quickfit.data.entries import Entry
from quickfit.data.packing.lookahead import ahead


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
