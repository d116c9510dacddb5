import gc
import os
import random

import numpy as np
import psutil
import pytest

from quickfit.errors import PipelineError

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
