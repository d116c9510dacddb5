import functools
import os
import sys
import threading
from types import ModuleType

import numpy as np
import pytest

from quickfit.data.workers.carrying import NotCarriedError, culprit, opened, parcel

LOCK = threading.Lock()


def with_lock(lock):
    """Return a function that holds a lock, as one written in a script would."""

    def uses_lock(item):
        with lock:
            return item

    return uses_lock


class Reader:
    def __init__(self):
        self.lock = threading.Lock()
        self.name = "a"

    def __call__(self, item):
        return item

    def read(self, item):
        return item


def carried(value):
    descriptor = parcel(value)
    try:
        return opened(descriptor)
    finally:
        os.close(descriptor)


def test_a_closure_and_what_it_refers_to_arrive():
    offset = 5
    assert carried(lambda item: item + offset)(2) == 7


def test_large_arrays_lie_in_the_file_and_can_be_written_to_without_others_seeing_it():
    descriptor = parcel({"big": np.arange(100_000), "small": 3})
    one, other = opened(descriptor), opened(descriptor)
    os.close(descriptor)
    one["big"][0] = 99
    assert other["big"][0] == 0
    assert other["big"].sum() == np.arange(100_000).sum()
    assert not one["big"].flags.owndata


def test_a_module_that_no_other_process_can_import_goes_along_by_value():
    module = ModuleType("made_by_hand_here")
    sys.modules["made_by_hand_here"] = module
    exec("def double(item):\n    return item * 2", module.__dict__)
    function = module.double
    descriptor = parcel(function)
    del sys.modules["made_by_hand_here"]
    assert opened(descriptor)(4) == 8
    os.close(descriptor)


def test_what_exists_only_in_this_process_is_refused():
    with pytest.raises(NotCarriedError, match="TypeError: cannot pickle"):
        parcel(LOCK)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (with_lock(LOCK), "`lock`, which `uses_lock` uses, (a lock)"),
        (Reader(), "`lock` of the Reader (a lock)"),
        (Reader().read, "`lock` of the Reader (a lock)"),
        (functools.partial(max, LOCK), "argument 0 of the partial (a lock)"),
        (functools.partial(max, key=LOCK), "argument `key` of the partial (a lock)"),
    ],
)
def test_the_guilty_part_is_named(function, words):
    assert culprit(function, range(3), None) == f"{words} exists only in this process"


def test_a_guilty_item_is_named():
    assert "items[1] (a lock)" in culprit(max, ["a", LOCK], None)


def test_a_guilty_setup_is_named():
    assert culprit(max, [1], with_lock(LOCK)) == (
        "`lock`, which `uses_lock` uses, (a lock) exists only in this process"
    )


def test_an_object_that_refuses_in_its_own_way_is_told():
    class Refuses:
        def __reduce__(self):
            raise NotImplementedError("not here\nsecond line")

    assert culprit(max, Refuses(), None) == (
        "items cannot be pickled (NotImplementedError: not here)"
    )


def test_nobody_is_guilty_where_all_can_go():
    assert culprit(max, [1, 2], None) is None
