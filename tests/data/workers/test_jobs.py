import functools
import os
import random
import sys
import threading
from types import ModuleType

import numpy as np
import pytest

from quickfit.data.workers import jobs
from quickfit.data.workers.jobs import (
    BatchesOf,
    ItemJob,
    NotCarriedError,
    PyDatasetStandIn,
    StreamEnded,
    StreamJob,
    find_unpicklable,
    function_name,
    pack_for_workers,
    takes_rng,
    unpack_from_owner,
)


def test_every_item_of_every_epoch_has_its_own_number():
    drawn = {jobs.item_seed(7, epoch, item) for epoch in range(30) for item in range(1000)}
    assert len(drawn) == 30_000


@pytest.mark.parametrize("seed", [0, -3, 2**80])
def test_any_whole_number_is_a_seed(seed):
    value = jobs.item_seed(seed, 0, 0)
    assert value == jobs.item_seed(seed, 0, 0)
    assert 0 <= value < 2**64


def test_each_epoch_is_another_permutation_and_the_same_in_the_next_run():
    first, second = (jobs.item_order(100, seed=5, epoch=e, shuffle=True) for e in (0, 1))
    assert sorted(first) == sorted(second) == list(range(100))
    assert first != second
    assert first == jobs.item_order(100, seed=5, epoch=0, shuffle=True)


def test_without_shuffle_items_keep_their_order():
    assert list(jobs.item_order(5, seed=1, epoch=3, shuffle=False)) == [0, 1, 2, 3, 4]


def test_seeding_reaches_python_and_numpy():
    drawn = []
    for _ in range(2):
        jobs.seed_all(2**63 + 5)
        drawn.append((random.random(), np.random.rand()))
    assert drawn[0] == drawn[1]


def test_those_who_give_no_seed_get_different_ones():
    assert jobs.draw_seed() != jobs.draw_seed()


def noisy(item):
    return np.random.rand()


def noisy_with_rng(item, rng):
    return rng.random()


@pytest.mark.parametrize("function", [noisy, noisy_with_rng])
def test_chance_depends_on_seed_epoch_and_item_alone(function):
    job = ItemJob(function, range(10), 3, True)
    job.prepare()
    first = [job.run(item, turn=1, epoch=0) for item in range(10)]
    again = [job.run(item, turn=5, epoch=0) for item in reversed(range(10))][::-1]
    later = [job.run(item, turn=5, epoch=1) for item in range(10)]
    assert first == again
    assert len({*first, *later}) == 20


def test_threads_leave_the_shared_chance_alone():
    np.random.seed(4)
    expected = np.random.rand(2)
    np.random.seed(4)
    job = ItemJob(noisy, range(10), 3, owns_process=False)
    job.prepare()
    assert [job.run(item, turn=1, epoch=0) for item in (0, 1)] == expected.tolist()


def test_a_generator_starts_again_with_each_turn_and_ends():
    job = StreamJob(lambda: iter("ab"), 1, True)
    assert [job.run(0, turn=1, epoch=0) for _ in range(2)] == ["a", "b"]
    with pytest.raises(StreamEnded):
        job.run(2, turn=1, epoch=0)
    with pytest.raises(StreamEnded):
        job.run(3, turn=1, epoch=0)
    assert job.run(0, turn=2, epoch=1) == "a"


def test_setup_runs_when_the_worker_is_made_ready():
    ran = []
    for job in (
        ItemJob(noisy, range(1), 1, False, lambda: ran.append("item")),
        StreamJob(lambda: iter(()), 1, False, lambda: ran.append("stream")),
    ):
        job.prepare()
    assert ran == ["item", "stream"]


def test_lists_of_arrays_in_a_batch_are_several_inputs():
    left, right = np.zeros((2, 3)), np.ones((2, 4))
    batch = BatchesOf([([left, right], [0, 1])])(0)
    assert batch[0] == (left, right) or batch[0][1] is right
    assert batch[1] == [0, 1]


def test_only_functions_that_ask_for_chance_get_it():
    assert takes_rng(noisy_with_rng)
    assert not takes_rng(noisy)
    assert not takes_rng(max)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (noisy, "noisy"),
        (functools.partial(noisy, 1), "noisy"),
        ("".join, "str.join"),
        (BatchesOf([]), "BatchesOf"),
        (np.load, "load"),
    ],
)
def test_functions_have_the_name_the_user_gave_them(function, name):
    assert function_name(function) == name


class Batches(PyDatasetStandIn):
    def __len__(self):
        return 3


def test_it_answers_as_keras_does():
    batches = Batches()
    batches.__dict__["_workers"] = 4  # as an object from the script arrives
    batches.on_epoch_begin()
    batches.on_epoch_end()
    assert batches.workers == 4
    assert batches.max_queue_size == 10
    assert not batches.use_multiprocessing
    assert batches.num_batches == 3
    assert PyDatasetStandIn().num_batches is None


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
    descriptor = pack_for_workers(value)
    try:
        return unpack_from_owner(descriptor)
    finally:
        os.close(descriptor)


def test_a_closure_and_what_it_refers_to_arrive():
    offset = 5
    assert carried(lambda item: item + offset)(2) == 7


def test_large_arrays_lie_in_the_file_and_can_be_written_to_without_others_seeing_it():
    descriptor = pack_for_workers({"big": np.arange(100_000), "small": 3})
    one, other = unpack_from_owner(descriptor), unpack_from_owner(descriptor)
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
    descriptor = pack_for_workers(function)
    del sys.modules["made_by_hand_here"]
    assert unpack_from_owner(descriptor)(4) == 8
    os.close(descriptor)


def test_what_exists_only_in_this_process_is_refused():
    with pytest.raises(NotCarriedError, match="TypeError: cannot pickle"):
        pack_for_workers(LOCK)


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
    assert find_unpicklable(function, range(3), None) == f"{words} exists only in this process"


def test_a_guilty_item_is_named():
    assert "items[1] (a lock)" in find_unpicklable(max, ["a", LOCK], None)


def test_a_guilty_setup_is_named():
    assert find_unpicklable(max, [1], with_lock(LOCK)) == (
        "`lock`, which `uses_lock` uses, (a lock) exists only in this process"
    )


def test_an_object_that_refuses_in_its_own_way_is_told():
    class Refuses:
        def __reduce__(self):
            raise NotImplementedError("not here\nsecond line")

    assert find_unpicklable(max, Refuses(), None) == (
        "items cannot be pickled (NotImplementedError: not here)"
    )


def test_nobody_is_guilty_where_all_can_go():
    assert find_unpicklable(max, [1, 2], None) is None
