import pytest

from quickfit.errors import ModelError, UsageError
from quickfit.tuning.batches.room import BASE_BYTES, Room, room

GB = 10**9


def test_without_a_limit_a_training_may_hold_most_of_what_is_free():
    found = room(None, 10 * GB)
    assert found.each_bytes == found.all_bytes == 8 * GB
    assert found.told == "8.0 GB (80 % of the 10 GB that are free)"


def test_a_limit_is_for_each_training_and_what_is_free_for_all():
    found = room(2 * GB, 10 * GB)
    assert (found.each_bytes, found.all_bytes) == (2 * GB, 8 * GB)
    assert found.told == "2.0 GB (memory_limit)"


def test_a_limit_above_what_is_free_does_not_count():
    found = room(64 * GB, 10 * GB)
    assert found.each_bytes == 8 * GB
    assert found.told.endswith("; memory_limit is 64 GB")


def test_a_limit_that_tensorflow_alone_exceeds_is_told():
    with pytest.raises(
        UsageError, match=r"memory_limit=100000000\): 100 MB are too little.*600 MB"
    ):
        room(100_000_000, 10 * GB)


def test_a_machine_without_free_memory_is_told():
    with pytest.raises(ModelError, match=r"500 MB of memory are free.*End other programs"):
        room(None, 500_000_000)


def test_the_net_under_a_child_leaves_out_what_threads_only_reserve():
    limit = Room(4 * GB, 8 * GB, "")
    assert limit.growth_bytes(2) == 4 * GB - BASE_BYTES
    assert limit.growth_bytes(64) > 10 * GB
