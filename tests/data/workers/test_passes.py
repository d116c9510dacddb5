import itertools

import numpy as np
import pytest

from quickfit.data.workers.jobs import ItemJob, StreamJob
from quickfit.data.workers.layout import layout_of
from quickfit.data.workers.passes import Pass, Rules
from quickfit.data.workers.threads import ThreadCrew
from quickfit.errors import PipelineError


class FailedError(Exception):
    pass


def refuse(failure):
    raise FailedError(failure.item)


def crew_of(job, first, rows=4, workers=2, slots=3):
    return ThreadCrew(job, layout_of(first, rows=rows), workers=workers, slots=slots)


def passed(crew, items, *, rows=4, first=0, **rules):
    told = {"workers": 2, "slots": 9, "is_ordered": True, "keeps_last": True, "on_failure": refuse}
    layout = layout_of(first, rows=rows)
    return Pass(crew, layout, iter(items), epoch=0, rules=Rules(**{**told, **rules})).batches()


@pytest.fixture
def crew():
    """Return threads that fail on multiples of 50, of 100 items."""

    def tenfold(item):
        if item % 50 == 7:
            raise ValueError(item)
        return item * 10

    crew = crew_of(ItemJob(tenfold, range(100), 1, False), 0)
    yield crew
    crew.close()


def rows_of(batches):
    return [array.tolist() for (array,) in batches]


@pytest.mark.parametrize("count", [1, 4, 5, 7])
def test_batches_hold_the_items_in_order_and_the_last_is_smaller(crew, count):
    got = rows_of(passed(crew, range(10, 10 + count)))
    assert list(itertools.chain(*got)) == [item * 10 for item in range(10, 10 + count)]
    assert {len(batch) for batch in got[:-1]} <= {4}


def test_the_last_batch_is_dropped_if_it_is_not_full(crew):
    assert rows_of(passed(crew, range(10, 20), keeps_last=False)) == [
        [100, 110, 120, 130],
        [140, 150, 160, 170],
    ]


def test_batches_before_a_failure_are_handed_over(crew):
    batches = passed(crew, range(12))
    assert next(batches)[0].tolist() == [0, 10, 20, 30]
    with pytest.raises(FailedError, match="7"):
        next(batches)


def test_items_that_are_left_out_leave_no_gaps_and_no_small_batches(crew):
    failed = []
    got = rows_of(passed(crew, range(4, 13), on_failure=failed.append))
    assert got == [[40, 50, 60, 80], [90, 100, 110, 120]]
    assert [failure.item for failure in failed] == [7]


def test_in_any_order_nothing_is_lost_or_doubled(crew):
    got = rows_of(passed(crew, range(8, 50), is_ordered=False))
    assert sorted(itertools.chain(*got)) == [item * 10 for item in range(8, 50)]


def test_a_pass_that_is_dropped_leaves_the_crew_to_the_next(crew):
    for _ in range(20):
        batches = passed(crew, range(8, 50))
        next(batches)
        batches.close()
    assert rows_of(passed(crew, range(8, 12))) == [[80, 90, 100, 110]]


def test_no_more_batches_are_in_the_making_than_memory_allows(crew):
    begun = []
    items = (begun.append(item) or item for item in range(8, 50))
    batches = passed(crew, items, slots=2)
    next(batches)
    assert len(begun) == 8


def test_results_of_any_shape_come_one_by_one():
    crew = crew_of(ItemJob(np.zeros, range(5), 1, False), np.zeros(1), rows=None)
    got = [array.shape for (array,) in passed(crew, range(5), rows=None, first=np.zeros(1))]
    crew.close()
    assert got == [(0,), (1,), (2,), (3,), (4,)]


def test_text_finds_its_row():
    crew = crew_of(ItemJob(lambda i: (i, f"n{i}"), range(9), 1, False), (0, ""))
    got = [(n.tolist(), text.tolist()) for n, text in passed(crew, range(3), first=(0, ""))]
    crew.close()
    assert got == [([0, 1, 2], [b"n0", b"n1", b"n2"])]


@pytest.mark.parametrize("length", [1, 4, 6, 40])
def test_a_generator_ends_where_it_ends(length):
    crew = crew_of(StreamJob(lambda: iter(range(length)), 1, False), 0, workers=1)
    for _ in range(2):
        got = rows_of(passed(crew, itertools.count(), workers=1))
        assert list(itertools.chain(*got)) == list(range(length))
    crew.close()


def test_full_batches_need_no_further_copy_on_the_way_to_tensorflow(crew):
    first, _ = (array for (array,) in passed(crew, range(8, 16)))
    assert first.ctypes.data % 64 == 0


def test_rows_that_nobody_made_are_never_handed_over(crew):
    batches = passed(crew, range(8, 50))
    next(batches)
    crew.turn += 1  # as if another used the same crew
    with pytest.raises(PipelineError, match="are used by another process or thread"):
        list(batches)
