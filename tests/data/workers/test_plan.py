import functools
from pathlib import Path

import numpy as np
import pytest

from quickfit.data.workers.plan import default_workers
from quickfit.errors import UsageError


def load(item):
    return item


def yields(n=3):
    yield from range(n)


class Items:
    def __len__(self):
        return 7

    def __getitem__(self, number):
        return number


class Series(list):
    iloc = None

    def tolist(self):
        return list(self)


class Frame:
    iloc = None


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (3, [0, 1, 2]),
        (np.int64(2), [0, 1]),
        (["a", "b"], ["a", "b"]),
        ((Path("a"),), [Path("a")]),
        (np.array([5, 6]), [5, 6]),
        (Series(["x"]), ["x"]),
        (range(2, 4), [2, 3]),
    ],
)
def test_items_are_a_number_or_any_sequence(plan, items, expected):
    assert list(plan(load, items).items) == expected


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (None, "needs items: a number, a list of paths, any sequence"),
        (0, "was given no items: the sequence is empty"),
        (-3, "was given no items"),
        ([], "was given no items"),
        (True, "was given a bool as items"),
        ("photos", "was given a str as items"),
        ({"a": 1}, "was given a dict as items"),
        ({1, 2}, "was given a set as items"),
        (iter([1]), "For an iterator: items=list(...)"),
        (Frame(), 'items=frame.to_dict("records")'),
        (2.5, "was given a float as items"),
    ],
)
def test_items_that_cannot_be_counted_are_refused(plan, items, words):
    with pytest.raises(UsageError) as refused:
        plan(load, items)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "fork"}, "generator(kind='fork'): it is one of 'auto', 'processes', 'threads'"),
        ({"on_error": "ignore"}, "generator(on_error='ignore'): it is one of 'raise', 'skip'"),
        ({"workers": 0}, "generator(workers=0): a whole number from 1 is needed"),
        ({"batch": 2.5}, "generator(batch=2.5): a whole number from 1"),
        ({"batch": True}, "generator(batch=True): a whole number from 1"),
        ({"prefetch": -1}, "generator(prefetch=-1)"),
        ({"seed": "a"}, "generator(seed='a'): a whole number is needed"),
        ({"setup": 3}, "generator(setup=3): a function without arguments is needed"),
        ({"batch": None, "drop_remainder": True}, "there is no remainder without batches"),
        ({"batch": 20, "drop_remainder": True}, "9 items fill no batch, and all would be dropped"),
    ],
)
def test_options_that_make_no_sense_are_refused(plan, given, words):
    with pytest.raises(UsageError) as refused:
        plan(load, 9, **given)
    assert words in str(refused.value)


async def waits(item):
    return item


@pytest.mark.parametrize(
    ("function", "items", "given", "words"),
    [
        (waits, 3, {}, "`waits` is `async`: generator() needs a plain function"),
        (yields(), None, {}, "which can be read only once: give the function that makes it"),
        ([1, 2], None, {}, "was given a list as function"),
        (np.zeros(3), None, {}, "was given a ndarray as function"),
        (5, 3, {}, "was given a int as function. It needs a function and its items"),
        (Items(), 3, {}, "was given a Items as function"),
        (yields, 3, {}, "`yields` yields, so it makes its own elements"),
        (yields, None, {"shuffle": True, "workers": None}, "generator(yields, shuffle=True)"),
        (yields, None, {"workers": 3}, "a generator function runs in one worker"),
        (yields, None, {"workers": 1, "on_error": "skip"}, 'on_error="skip"'),
    ],
)
def test_functions_that_cannot_be_used_are_refused(plan, function, items, given, words):
    with pytest.raises(UsageError) as refused:
        plan(function, items, **given)
    assert words in str(refused.value)


def needs_folder(folder):
    yield folder


def test_a_generator_function_is_called_without_arguments(plan):
    with pytest.raises(UsageError, match=r"it needs folder: use functools.partial"):
        plan(needs_folder, workers=1)
    made = plan(functools.partial(needs_folder, "a"), workers=1)
    assert made.items is None
    assert made.name == "needs_folder"
    assert made.workers == 1


def test_an_object_with_items_of_its_own_is_a_function_of_their_numbers(plan):
    made = plan(Items())
    assert list(made.items) == list(range(7))
    assert made.function(3) == 3
    assert made.name == "Items.__getitem__"


def test_there_are_never_more_workers_than_items(plan):
    assert plan(load, 3, workers=8).workers == 3
    assert plan(load, 1000, workers=None).workers == default_workers() >= 1


def test_who_gives_no_seed_gets_one(plan):
    assert plan(load, 3, seed=None).seed != plan(load, 3, seed=None).seed
    assert plan(load, 3, seed=5).seed == 5
