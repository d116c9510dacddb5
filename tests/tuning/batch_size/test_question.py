import numpy as np
import pytest

from quickfit.errors import ModelError, UsageError
from quickfit.tuning.batch_size.question import (
    BASE_BYTES,
    BatchQuestion,
    MemoryRoom,
    read_question,
    training_room,
)

PLAIN = {
    "mode": "throughput",
    "limit": None,
    "effective": None,
    "sizes": None,
    "budget_s": 90,
    "memory_limit": None,
}


def ask(**changed):
    return read_question(**{**PLAIN, **changed})


def test_the_defaults_ask_for_throughput_without_limits():
    assert ask() == BatchQuestion()


def test_sizes_are_sorted_and_told_once():
    assert ask(sizes=[64, 16, 64]).sizes == (16, 64)
    assert ask(sizes=(n for n in (8, 4))).sizes == (4, 8)


def test_whole_numbers_of_numpy_are_taken():
    question = ask(limit=np.int64(64), sizes=np.array([8, 16]), effective=np.int32(128))
    assert (question.limit, question.effective, question.sizes) == (64, 128, (8, 16))
    assert type(question.limit) is int


@pytest.mark.parametrize(
    ("given", "bytes_"),
    [
        (4_000_000_000, 4_000_000_000),
        (4e9, 4_000_000_000),
        ("4 GB", 4_000_000_000),
        ("1.5gb", 1_500_000_000),
        ("900MB", 900_000_000),
        ("2GiB", 2 * 2**30),
        ("1000000000", 1_000_000_000),
    ],
)
def test_a_memory_limit_is_a_number_of_bytes_or_has_a_unit(given, bytes_):
    assert ask(memory_limit=given).memory_limit_bytes == bytes_


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"mode": "fastest"}, r"mode='fastest'\): give 'throughput' \(the smallest .* 'max'"),
        ({"mode": ["max"]}, r"mode=\['max'\]"),
        ({"limit": 0}, r"limit=0\): give the largest batch to try, a whole number from 1"),
        ({"limit": 6.5}, r"limit=6.5\)"),
        ({"limit": True}, r"limit=True\)"),
        ({"limit": "64"}, r"limit='64'\)"),
        ({"effective": -1}, r"effective=-1\): give the samples you want per update"),
        ({"sizes": []}, r"sizes=\[\]\): give batch sizes to try, .* sizes=\[16, 32, 64\]"),
        ({"sizes": [8, 0]}, r"sizes=\[8, 0\]\)"),
        ({"sizes": [8, "x"]}, r"sizes=\[8, 'x'\]\)"),
        ({"sizes": "8,16"}, r"sizes='8,16'\)"),
        ({"sizes": 8}, r"sizes=8\)"),
        ({"budget_s": 0}, r"budget_s=0\): give the seconds"),
        ({"budget_s": float("nan")}, r"budget_s=nan\)"),
        ({"budget_s": "3m"}, r"budget_s='3m'\)"),
        ({"budget_s": True}, r"budget_s=True\)"),
        ({"memory_limit": "4 GX"}, r"memory_limit='4 GX'\): give the bytes .*'4 GB'"),
        ({"memory_limit": 0}, r"memory_limit=0\)"),
        ({"memory_limit": float("inf")}, r"memory_limit=inf\)"),
        ({"memory_limit": "lots"}, r"memory_limit='lots'\)"),
        ({"sizes": [64, 128], "limit": 32}, r"limit=32\): all sizes are above limit"),
        ({"sizes": [64], "effective": 16}, r"effective=16\): all sizes are above effective"),
    ],
)
def test_a_wrong_argument_is_told_with_what_to_give(changed, said):
    with pytest.raises(UsageError, match=said):
        ask(**changed)


def test_the_most_is_the_least_of_all_limits():
    assert BatchQuestion().most(None) is None
    assert BatchQuestion().most(500) == 500
    assert BatchQuestion(limit=64, effective=256).most(500) == 64
    assert BatchQuestion(limit=640, effective=256).most(500) == 256


GB = 10**9


def test_without_a_limit_a_training_may_hold_most_of_what_is_free():
    found = training_room(None, 10 * GB)
    assert found.each_bytes == found.all_bytes == 8 * GB
    assert found.told == "8.0 GB (80 % of the 10 GB that are free)"


def test_a_limit_is_for_each_training_and_what_is_free_for_all():
    found = training_room(2 * GB, 10 * GB)
    assert (found.each_bytes, found.all_bytes) == (2 * GB, 8 * GB)
    assert found.told == "2.0 GB (memory_limit)"


def test_a_limit_above_what_is_free_does_not_count():
    found = training_room(64 * GB, 10 * GB)
    assert found.each_bytes == 8 * GB
    assert found.told.endswith("; memory_limit is 64 GB")


def test_a_limit_that_tensorflow_alone_exceeds_is_told():
    with pytest.raises(
        UsageError, match=r"memory_limit=100000000\): 100 MB are too little.*600 MB"
    ):
        training_room(100_000_000, 10 * GB)


def test_a_machine_without_free_memory_is_told():
    with pytest.raises(ModelError, match=r"500 MB of memory are free.*End other programs"):
        training_room(None, 500_000_000)


def test_the_net_under_a_child_leaves_out_what_threads_only_reserve():
    limit = MemoryRoom(4 * GB, 8 * GB, "")
    assert limit.growth_bytes(2) == 4 * GB - BASE_BYTES
    assert limit.growth_bytes(64) > 10 * GB
