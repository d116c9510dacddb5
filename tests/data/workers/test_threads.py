import gc
import threading

import pytest

from quickfit.data.workers.crew import CrewClosed
from quickfit.data.workers.jobs import ItemJob
from quickfit.data.workers.layout import layout_of
from quickfit.data.workers.messages import Task
from quickfit.data.workers.threads import ThreadCrew


def crew_of(function, workers=2):
    job = ItemJob(function, range(10), 1, False)
    return ThreadCrew(job, layout_of(0, rows=4), workers=workers, slots=2)


def ours():
    return [thread for thread in threading.enumerate() if "quickfit worker" in thread.name]


def test_results_lie_in_memory_that_is_handed_over():
    crew = crew_of(lambda item: item * 2)
    crew.give(Task(0, 0, 1, 0, (3, 4)))
    (reply,) = crew.wait()
    assert (reply.slot, reply.content) == (1, None)
    (array,) = crew.slots[1].take(layout_of(0, rows=4), 2, None)
    assert array.tolist() == [6, 8]
    crew.close()


def test_tasks_of_an_old_turn_are_only_ticked_off():
    called = []
    crew = crew_of(called.append)
    crew.turn = 5
    crew.give(Task(4, 0, 0, 0, (1,)))
    crew.wait()
    assert crew.pending == [0, 0]
    assert called == []
    crew.close()


def test_threads_end_with_their_crew():
    crew = crew_of(abs)
    assert len(ours()) == 2
    del crew
    gc.collect()
    assert ours() == []


def test_who_waits_is_told_that_the_crew_is_closed():
    entered, leave = threading.Event(), threading.Event()

    def blocks(item):
        entered.set()
        leave.wait()
        return item

    crew = crew_of(blocks, workers=1)
    crew.give(Task(0, 0, 0, 0, (1,)))
    entered.wait()
    leave.set()
    crew.close()
    assert crew.is_closed
    with pytest.raises(CrewClosed):
        crew.wait()


def test_several_threads_work_at_the_same_time():
    together = threading.Barrier(3)
    crew = crew_of(lambda item: together.wait(), workers=3)
    for row in range(3):
        crew.give(Task(0, 0, 0, row, (row,)))
    replies = []
    while len(replies) < 3:
        replies += crew.wait()
    assert [reply.content for reply in replies] == [None] * 3
    crew.close()
