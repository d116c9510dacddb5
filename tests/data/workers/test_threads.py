import gc
import threading

import pytest

from quickfit.data.workers.arrays import find_layout
from quickfit.data.workers.jobs import ItemJob
from quickfit.data.workers.messages import PoolClosed, WorkerTask
from quickfit.data.workers.threads import ThreadPool


def pool_of(function, workers=2):
    job = ItemJob(function, range(10), 1, False)
    return ThreadPool(job, find_layout(0, rows=4), workers=workers, slots=2)


def ours():
    return [thread for thread in threading.enumerate() if "quickfit worker" in thread.name]


def test_results_lie_in_memory_that_is_handed_over():
    pool = pool_of(lambda item: item * 2)
    pool.give(WorkerTask(0, 0, 1, 0, (3, 4)))
    (reply,) = pool.wait()
    assert (reply.slot, reply.content) == (1, None)
    (array,) = pool.slots[1].take(find_layout(0, rows=4), 2, None)
    assert array.tolist() == [6, 8]
    pool.close()


def test_tasks_of_an_old_turn_are_only_ticked_off():
    called = []
    pool = pool_of(called.append)
    pool.turn = 5
    pool.give(WorkerTask(4, 0, 0, 0, (1,)))
    pool.wait()
    assert pool.pending == [0, 0]
    assert called == []
    pool.close()


def test_threads_end_with_their_pool():
    pool = pool_of(abs)
    assert len(ours()) == 2
    del pool
    gc.collect()
    assert ours() == []


def test_who_waits_is_told_that_the_pool_is_closed():
    entered, leave = threading.Event(), threading.Event()

    def blocks(item):
        entered.set()
        leave.wait()
        return item

    pool = pool_of(blocks, workers=1)
    pool.give(WorkerTask(0, 0, 0, 0, (1,)))
    entered.wait()
    leave.set()
    pool.close()
    assert pool.is_closed
    with pytest.raises(PoolClosed):
        pool.wait()


def test_several_threads_work_at_the_same_time():
    together = threading.Barrier(3)
    pool = pool_of(lambda item: together.wait(), workers=3)
    for row in range(3):
        pool.give(WorkerTask(0, 0, 0, row, (row,)))
    replies = []
    while len(replies) < 3:
        replies += pool.wait()
    assert [reply.content for reply in replies] == [None] * 3
    pool.close()
