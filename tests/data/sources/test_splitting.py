from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.data.entries import Entry
from quickfit.data.sources import split
from quickfit.errors import UsageError


def entries(*counts):
    return [
        Entry(f"class{label}/{number}.jpg", label, 1, "x")
        for label, count in enumerate(counts)
        for number in range(count)
    ]


def counted(part):
    return dict(Counter(entry.label for entry in part))


def test_splits_every_class_alike():
    train, validation = split(entries(100, 50, 10), 0.2, seed=1)
    assert counted(train) == {0: 80, 1: 40, 2: 8}
    assert counted(validation) == {0: 20, 1: 10, 2: 2}


def test_makes_as_many_parts_as_there_are_shares():
    parts = split(entries(100, 50), (0.8, 0.1, 0.1), seed=1)
    assert [counted(part) for part in parts] == [{0: 80, 1: 40}, {0: 10, 1: 5}, {0: 10, 1: 5}]


def test_small_classes_share_the_images_that_rounding_leaves():
    parts = split(entries(*[2] * 50), 0.2, seed=1)
    assert [len(part) for part in parts] == [80, 20]
    assert max(counted(parts[1]).values()) == 1


@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=8),
    shares=st.sampled_from([(0.5, 0.5), (0.8, 0.1, 0.1), (1 / 3, 1 / 3, 1 / 3), (0.7, 0.3)]),
    seed=st.integers(0, 5),
)
def test_loses_and_doubles_nothing_and_stays_near_the_shares(counts, shares, seed):
    given_entries = entries(*counts)
    try:
        parts = split(given_entries, shares, seed)
    except UsageError:
        assert len(given_entries) < 12
        return
    assert sorted(entry.name for part in parts for entry in part) == sorted(
        entry.name for entry in given_entries
    )
    for part, share in zip(parts, shares, strict=True):
        assert abs(len(part) - share * len(given_entries)) < 1
        for label, count in enumerate(counts):
            assert abs(counted(part).get(label, 0) - share * count) < len(shares)


def test_the_order_of_the_entries_does_not_matter():
    forward = split(entries(30, 20), 0.3, seed=4)
    backward = split(entries(30, 20)[::-1], 0.3, seed=4)
    assert [{e.name for e in part} for part in forward] == [
        {e.name for e in part} for part in backward
    ]


def test_each_part_keeps_the_order_of_the_entries():
    for part in split(entries(30, 20), 0.3, seed=4):
        assert part == [entry for entry in entries(30, 20) if entry in part]


def test_an_image_stays_on_its_side_when_others_are_added():
    before = {e.name for e in split(entries(100, 100), 0.2, seed=0)[1]}
    added_elsewhere = {e.name for e in split(entries(100, 100, 50), 0.2, seed=0)[1]}
    assert before <= added_elsewhere
    added_here = {e.name for e in split(entries(110, 100), 0.2, seed=0)[1]}
    assert len(before - added_here) <= 4


def test_another_seed_gives_another_split_and_the_same_the_same():
    first, again, other = (
        {e.name for e in split(entries(100), 0.5, seed=seed)[1]} for seed in (0, 0, 1)
    )
    assert first == again != other
    assert 10 < len(first & other) < 40


def test_splits_names_that_are_no_utf8():
    odd = [Entry(f"caf\udce9{number}.jpg", -1, 1, "x") for number in range(4)]
    assert [len(part) for part in split(odd, 0.5)] == [2, 2]


@pytest.mark.parametrize(
    ("shares", "says"),
    [
        (0, r"the split 0 is none"),
        (1.0, r"the split 1\.0 is none"),
        (-0.2, r"the split -0\.2 is none"),
        ((1.0,), r"is none: give the share"),
        ((), r"is none"),
        ((0.5, 0.2), r"\(0\.5, 0\.2\) sum to 0\.7: they have to sum to 1"),
        ((0.9, 0.1), r"3 images cannot be split into 0\.9, 0\.1: the parts would have 3, 0"),
    ],
)
def test_says_what_is_wrong_with_the_shares(shares, says):
    with pytest.raises(UsageError, match=says):
        split(entries(3), shares)
