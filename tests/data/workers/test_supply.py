import gc
import itertools
import os
import random
import threading

import numpy as np
import psutil
import pytest

from quickfit.data.workers.arrays import find_layout
from quickfit.data.workers.jobs import ItemJob, StreamJob
from quickfit.data.workers.messages import LOADING_TASK, NO_TASK, ItemFailure, JobBroken, WorkerDied
from quickfit.data.workers.passes import EpochCallbacks, ItemPass, PassRules
from quickfit.data.workers.supply import FailureMessages
from quickfit.data.workers.threads import ThreadPool
from quickfit.errors import PipelineError, UsageError


class FailedError(Exception):
    pass


def refuse(failure):
    raise FailedError(failure.item)


def pool_of(job, first, rows=4, workers=2, slots=3):
    return ThreadPool(job, find_layout(first, rows=rows), workers=workers, slots=slots)


def passed(pool, items, *, rows=4, first=0, **rules):
    told = {"workers": 2, "slots": 9, "is_ordered": True, "keeps_last": True, "on_failure": refuse}
    layout = find_layout(first, rows=rows)
    return ItemPass(
        pool, layout, iter(items), epoch=0, rules=PassRules(**{**told, **rules})
    ).batches()


@pytest.fixture
def pool():
    """Return threads that fail on multiples of 50, of 100 items."""

    def tenfold(item):
        if item % 50 == 7:
            raise ValueError(item)
        return item * 10

    pool = pool_of(ItemJob(tenfold, range(100), 1, False), 0)
    yield pool
    pool.close()


def rows_of(batches):
    return [array.tolist() for (array,) in batches]


@pytest.mark.parametrize("count", [1, 4, 5, 7])
def test_batches_hold_the_items_in_order_and_the_last_is_smaller(pool, count):
    got = rows_of(passed(pool, range(10, 10 + count)))
    assert list(itertools.chain(*got)) == [item * 10 for item in range(10, 10 + count)]
    assert {len(batch) for batch in got[:-1]} <= {4}


def test_the_last_batch_is_dropped_if_it_is_not_full(pool):
    assert rows_of(passed(pool, range(10, 20), keeps_last=False)) == [
        [100, 110, 120, 130],
        [140, 150, 160, 170],
    ]


def test_batches_before_a_failure_are_handed_over(pool):
    batches = passed(pool, range(12))
    assert next(batches)[0].tolist() == [0, 10, 20, 30]
    with pytest.raises(FailedError, match="7"):
        next(batches)


def test_items_that_are_left_out_leave_no_gaps_and_no_small_batches(pool):
    failed = []
    got = rows_of(passed(pool, range(4, 13), on_failure=failed.append))
    assert got == [[40, 50, 60, 80], [90, 100, 110, 120]]
    assert [failure.item for failure in failed] == [7]


def test_in_any_order_nothing_is_lost_or_doubled(pool):
    got = rows_of(passed(pool, range(8, 50), is_ordered=False))
    assert sorted(itertools.chain(*got)) == [item * 10 for item in range(8, 50)]


def test_a_pass_that_is_dropped_leaves_the_pool_to_the_next(pool):
    for _ in range(20):
        batches = passed(pool, range(8, 50))
        next(batches)
        batches.close()
    assert rows_of(passed(pool, range(8, 12))) == [[80, 90, 100, 110]]


def test_no_more_batches_are_in_the_making_than_memory_allows(pool):
    begun = []
    items = (begun.append(item) or item for item in range(8, 50))
    batches = passed(pool, items, slots=2)
    next(batches)
    assert len(begun) == 8


def test_results_of_any_shape_come_one_by_one():
    pool = pool_of(ItemJob(np.zeros, range(5), 1, False), np.zeros(1), rows=None)
    got = [array.shape for (array,) in passed(pool, range(5), rows=None, first=np.zeros(1))]
    pool.close()
    assert got == [(0,), (1,), (2,), (3,), (4,)]


def test_text_finds_its_row():
    pool = pool_of(ItemJob(lambda i: (i, f"n{i}"), range(9), 1, False), (0, ""))
    got = [(n.tolist(), text.tolist()) for n, text in passed(pool, range(3), first=(0, ""))]
    pool.close()
    assert got == [([0, 1, 2], [b"n0", b"n1", b"n2"])]


@pytest.mark.parametrize("length", [1, 4, 6, 40])
def test_a_generator_ends_where_it_ends(length):
    pool = pool_of(StreamJob(lambda: iter(range(length)), 1, False), 0, workers=1)
    for _ in range(2):
        got = rows_of(passed(pool, itertools.count(), workers=1))
        assert list(itertools.chain(*got)) == list(range(length))
    pool.close()


def test_full_batches_need_no_further_copy_on_the_way_to_tensorflow(pool):
    first, _ = (array for (array,) in passed(pool, range(8, 16)))
    assert first.ctypes.data % 64 == 0


def test_rows_that_nobody_made_are_never_handed_over(pool):
    batches = passed(pool, range(8, 50))
    next(batches)
    pool.turn += 1  # as if another used the same pool
    with pytest.raises(PipelineError, match="are used by another process or thread"):
        list(batches)


class Shuffles:
    def __init__(self):
        self.ended = 0

    def on_epoch_end(self):
        self.ended += 1


def test_the_users_object_is_told_and_counts_as_changed():
    dataset = Shuffles()
    rounds = EpochCallbacks(dataset)
    rounds.begin()
    assert rounds.version == 0
    rounds.end()
    assert (dataset.ended, rounds.version) == (1, 1)


def test_without_a_dataset_nothing_changes():
    rounds = EpochCallbacks(None)
    rounds.begin()
    rounds.end()
    assert rounds.version == 0


FILES = ["a/cat.jpg", "a/dog.jpg"]


def teller(items=FILES, can_skip=True):
    return FailureMessages("load", items, can_skip=can_skip)


def test_a_failure_names_item_and_error_and_shows_the_traceback():
    text = str(
        teller().failed(ItemFailure(0, 1, "ValueError: bad", "Traceback\n  train.py, line 5"))
    )
    assert text.startswith("`load` failed on item 1 ('a/dog.jpg'): ValueError: bad\n")
    assert "train.py, line 5" in text
    assert 'on_error="skip"' in text


def test_who_skips_already_is_not_told_to():
    text = str(teller(can_skip=False).failed(ItemFailure(0, 1, "ValueError: bad", "Traceback")))
    assert "on_error" not in text


def test_a_result_that_does_not_fit_comes_with_advice():
    text = str(teller().failed(ItemFailure(0, 1, "its array has shape [3], and [2] is expected")))
    assert "gave a result that cannot be used for item 1 ('a/dog.jpg')" in text
    assert "batch=None" in text


def test_a_result_that_is_none_comes_without_advice_on_shapes():
    text = str(teller().failed(ItemFailure(0, 1, "it returned None; is a `return` missing?")))
    assert "it returned None; is a `return` missing?\n" in text
    assert "shapes" not in text


def test_numbers_and_elements_are_not_said_twice():
    assert teller(range(10, 20)).item(3) == "item 13"
    assert teller(None).item(3) == "element 3"


def test_a_huge_item_is_shortened():
    assert len(teller([list(range(10**6))]).item(0)) < 200


@pytest.mark.parametrize(
    ("item", "code", "words"),
    [
        (1, -11, "was ended by SIGSEGV (invalid memory access in native code) while it ran `load`"),
        (1, -9, "was ended by SIGKILL (killed) while it ran `load` on item 1 ('a/dog.jpg')"),
        (1, -9, "when memory runs out: try fewer workers"),
        (1, 3, "ended with exit code 3 while it ran"),
        (LOADING_TASK, 1, "ended with exit code 1 while it loaded `load`"),
        (NO_TASK, -15, "was ended by SIGTERM between two items"),
        (1, -63, "was ended by signal 63"),
    ],
)
def test_a_death_is_told_with_its_reason_and_item(item, code, words):
    text = str(teller().died(WorkerDied(item, 4711, code)))
    assert words in text
    assert "pid 4711" in text


def test_a_function_that_cannot_be_loaded_is_told():
    text = str(teller().broken(JobBroken("ModuleNotFoundError: No module named 'mine'", "Trace")))
    assert "`load` could not be made ready in a worker: ModuleNotFoundError" in text
    assert 'kind="threads"' in text


def test_a_generator_without_elements_has_no_data():
    text = str(teller(None).failed(ItemFailure(0, -1, "it ended before its first element")))
    assert text.startswith("`load` has no data: it ended before its first element")


def quick(item):
    return item


def slow(item):
    return sum(range(200_000)) * 0 + item


@pytest.fixture
def locked():
    """Return a function that holds a lock, as one written in a script would."""
    lock = threading.Lock()

    def locked(item):
        with lock:
            return item

    return locked


def fails(item):
    raise ValueError("broken file")


def test_slow_functions_go_to_processes(supply):
    staffing = supply(slow, 10, kind="auto").staffing
    assert staffing.uses_processes
    assert staffing.reason.startswith("processes since a call takes")


def test_quick_functions_stay_in_threads(supply):
    staffing = supply(quick, 10, kind="auto").staffing
    assert not staffing.uses_processes
    assert staffing.reason.startswith("threads since a call takes only")


def test_functions_that_cannot_leave_stay_in_threads_and_say_why(supply, locked):
    staffing = supply(locked, 10, kind="auto").staffing
    assert not staffing.uses_processes
    assert staffing.reason == (
        "threads since `lock`, which `locked` uses, (a lock) exists only in this process"
    )


def test_who_asks_for_processes_is_told_why_not(supply, locked):
    with pytest.raises(UsageError) as refused:
        supply(locked, 10)
    text = str(refused.value)
    assert "`locked` cannot run in other processes: `lock`, which `locked` uses, (a lock)" in text
    assert "setup=" in text
    assert 'kind="threads"' in text


@pytest.mark.parametrize("kind", ["auto", "processes", "threads"])
def test_a_first_item_that_fails_is_told_at_once(supply, kind):
    with pytest.raises(PipelineError, match="`fails` failed on item 0: ValueError: broken file"):
        supply(fails, 10, kind=kind)


@pytest.mark.parametrize("kind", ["processes", "threads"])
def test_a_setup_that_fails_is_told_at_once(supply, kind):
    with pytest.raises(PipelineError, match="could not be made ready in a worker: ValueError"):
        supply(quick, 10, kind=kind, setup=lambda: fails(0))


def test_a_first_item_that_kills_its_worker_is_told(supply):
    def dies(item):
        import os

        os._exit(9)

    with pytest.raises(PipelineError, match="ended with exit code 9 while it ran `dies` on item 0"):
        supply(dies, 10, kind="auto")


def test_what_only_this_process_can_load_stays_here(supply):
    def reader(item):
        return item

    def only_here():
        import os

        if os.getpid() != here:
            raise ImportError("no module named mine")

    import os

    here = os.getpid()
    staffing = supply(reader, 10, kind="auto", setup=only_here).staffing
    assert staffing.reason == (
        "threads since a process could not load it: ImportError: no module named mine"
    )


kinds = pytest.mark.parametrize("kind", ["processes", "threads"])


def tenfold(item):
    return item * 10


def some_fail(item):
    if item in (3, 7, 8):
        raise ValueError(f"broken: {item}")
    return item


def chance(item):
    return item, np.random.rand(), random.random()


def flat(batches, part=None):
    """Return all rows of a pass."""
    return [row for batch in batches for row in (batch if part is None else batch[part]).tolist()]


@kinds
def test_passes_follow_each_other_and_the_workers_stay(supply, kind):
    made = supply(tenfold, 10, kind=kind)
    first = flat(made.batches())
    workers = {child.pid for child in psutil.Process().children()}
    assert flat(made.batches()) == first == [item * 10 for item in range(10)]
    assert {child.pid for child in psutil.Process().children()} == workers


def test_fifty_passes_that_are_dropped_leak_nothing(supply):
    made = supply(tenfold, 100)
    next(made.batches())
    gc.collect()
    workers, held = psutil.Process().children(), len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        assert next(made.batches()).tolist() == [0, 10, 20, 30]
    gc.collect()
    assert psutil.Process().children() == workers
    assert len(os.listdir("/proc/self/fd")) <= held


@kinds
def test_two_passes_at_once_do_not_disturb_each_other(supply, kind):
    made = supply(tenfold, 30, kind=kind, workers=1)
    for one, other in zip(made.batches(), made.batches(), strict=True):
        assert one.tolist() == other.tolist()
    assert flat(made.batches()) == [item * 10 for item in range(30)]


def test_chance_and_order_are_the_same_for_any_number_of_workers(supply):
    passes = []
    for workers in (1, 3):
        made = supply(chance, 40, workers=workers, shuffle=True, seed=9)
        passes.append([[flat(batches, part) for part in range(3)] for batches in two_passes(made)])
    assert passes[0] == passes[1]
    (first, *noise), (second, *other_noise) = passes[0]
    assert sorted(first) == sorted(second) == list(range(40))
    assert first != second
    assert not {*noise[0], *noise[1]} & {*other_noise[0], *other_noise[1]}


def two_passes(made):
    """Return the batches of two passes."""
    return [list(made.batches()), list(made.batches())]


@kinds
def test_items_that_fail_are_left_out_and_listed(supply, kind):
    made = supply(some_fail, 12, kind=kind, on_error="skip")
    for _ in range(2):
        with pytest.warns(UserWarning, match="3 of 12 items were left out of this epoch"):
            assert [batch.tolist() for batch in made.batches()] == [
                [0, 1, 2, 4],
                [5, 6, 9, 10],
                [11],
            ]
    assert [(one.number, one.error) for one in made.skipped] == [
        (3, "ValueError: broken: 3"),
        (7, "ValueError: broken: 7"),
        (8, "ValueError: broken: 8"),
    ]


def test_a_first_item_that_fails_does_not_keep_others_from_being_used(supply):
    made = supply(lambda item: some_fail(item + 3), 4, workers=1, on_error="skip")
    with pytest.warns(UserWarning, match="1 of 4 items"):
        assert flat(made.batches()) == [4, 5, 6]


def test_where_every_item_of_a_pass_fails_there_is_an_error(supply, tmp_path):
    (tmp_path / "there").touch()

    def needs_file(item):
        return (tmp_path / "there").stat().st_size

    made = supply(needs_file, 5, workers=1, on_error="skip")
    (tmp_path / "there").unlink()
    batches = made.batches()
    with pytest.raises(PipelineError, match="`needs_file` failed on item 0: FileNotFoundError"):
        next(batches)


@kinds
def test_an_error_leaves_the_workers_to_the_next_pass(supply, kind):
    made = supply(some_fail, 12, kind=kind)
    for _ in range(3):
        batches = made.batches()
        with pytest.raises(PipelineError, match="`some_fail` failed on item 3"):
            list(batches)


def test_a_pass_after_a_death_has_new_workers(supply, tmp_path):
    def dies_once(item):
        if item == 9 and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os._exit(3)
        return item

    made = supply(dies_once, 12, workers=1)
    batches = made.batches()
    with pytest.raises(PipelineError, match="exit code 3 while it ran `dies_once` on item 9"):
        list(batches)
    assert flat(made.batches()) == list(range(12))


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ({}, 3),
        ({"drop_remainder": True}, 2),
        ({"batch": None}, 10),
        ({"on_error": "skip"}, None),
    ],
)
def test_the_number_of_batches_is_known_beforehand(supply, given, count):
    made = supply(tenfold, 10, kind="threads", **given)
    assert made.count == count
    if count:
        assert len(list(made.batches())) == count


def test_results_of_any_size_come_back_one_by_one(supply):
    sizes = [0, 3, 200_000, 1, 70_000]
    made = supply(lambda size: (np.arange(size), str(size)), sizes, batch=None, workers=1)
    got = [(array.sum(), text.item()) for array, text in made.batches()]
    assert got == [(sum(range(size)), str(size).encode()) for size in sizes]


def test_large_arrays_that_the_function_uses_are_shared(supply):
    table = np.arange(1_000_000)
    made = supply(lambda item: table[item], 10, workers=1)
    assert flat(made.batches()) == list(range(10))


@kinds
def test_a_generator_function_runs_in_one_worker(supply, kind):
    def count(upto=10):
        yield from range(upto)

    made = supply(count, kind=kind, workers=1)
    assert [batch.tolist() for batch in made.batches()] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert next(made.batches()).tolist() == [0, 1, 2, 3]


def test_a_closed_supply_has_no_workers_and_still_works(supply):
    made = supply(tenfold, 4, workers=1)
    list(made.batches())
    made.close()
    assert psutil.Process().children() == []
    assert flat(made.batches()) == [0, 10, 20, 30]
    assert psutil.Process().children() == []
