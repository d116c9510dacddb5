import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.tuning.batches.choosing import choice, parts
from quickfit.tuning.batches.question import Question
from quickfit.tuning.batches.rows import Row
from quickfit.tuning.trials.answers import Failure


def rows(**samples_per_s):
    return [Row(int(n[1:]), (int(n[1:]) / speed,)) for n, speed in samples_per_s.items()]


def test_the_smallest_within_a_tenth_of_the_best_is_chosen():
    assert choice(Question(), rows(b8=50, b16=89, b32=91, b64=100)).batch == 32


def test_a_larger_batch_that_is_slower_is_not():
    assert choice(Question(), rows(b8=95, b16=100, b32=60)).batch == 8


def test_the_largest_is_chosen_where_the_most_is_wanted():
    assert choice(Question(mode="max"), rows(b8=95, b16=100, b32=60)).batch == 32


def test_nothing_above_the_limit_or_the_effective_batch_counts():
    found = rows(b8=50, b16=80, b32=100)
    assert choice(Question(limit=16), found).batch == 16
    assert choice(Question(effective=20), found).batch == 16
    assert choice(Question(limit=4), found) is None


def test_what_failed_is_not_chosen():
    failed = Row(64, (0.001,), failure=Failure.OUT_OF_MEMORY)
    assert choice(Question(), [*rows(b8=50), failed]).batch == 8
    assert choice(Question(), [failed]) is None


@pytest.mark.parametrize(
    ("effective", "batch", "micro", "count"),
    [
        (256, 64, 64, 4),
        (64, 64, 64, 1),
        (32, 64, 32, 1),
        (100, 64, 50, 2),
        (1000, 256, 250, 4),
        (97, 64, 49, 2),
        (7, 1, 1, 7),
        (1, 1, 1, 1),
    ],
)
def test_an_effective_batch_is_split_evenly_where_it_can_be(effective, batch, micro, count):
    assert parts(effective, batch) == (micro, count)


@given(st.integers(1, 10_000), st.integers(1, 4096))
def test_parts_are_never_larger_than_the_batch_and_make_up_the_whole(effective, batch):
    micro, count = parts(effective, batch)
    assert micro <= batch
    assert effective <= micro * count < effective + count
