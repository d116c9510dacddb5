import numpy as np
import pytest

from quickfit.errors import UsageError
from quickfit.tuning.batches.question import Question, asked

PLAIN = {
    "mode": "throughput",
    "limit": None,
    "effective": None,
    "sizes": None,
    "budget_s": 90,
    "memory_limit": None,
}


def ask(**changed):
    return asked(**{**PLAIN, **changed})


def test_the_defaults_ask_for_throughput_without_limits():
    assert ask() == Question()


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
    assert Question().most(None) is None
    assert Question().most(500) == 500
    assert Question(limit=64, effective=256).most(500) == 64
    assert Question(limit=640, effective=256).most(500) == 256
