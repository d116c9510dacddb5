import os

import numpy as np

from quickfit.data.workers.messages import (
    ITEMS_PER_TASK,
    LOADING_TASK,
    NO_TASK,
    TASK_BYTES,
    ItemFailure,
    ReplyKind,
    ReplyReader,
    SharedMemory,
    TaskOutcome,
    WorkerBoard,
    WorkerReply,
    WorkerTask,
    anonymous_file,
    parse_task,
)


def test_memory_grows_for_all_who_share_it_and_keeps_what_was_written():
    descriptor = anonymous_file("test")
    one, other = SharedMemory(descriptor), SharedMemory(os.dup(descriptor))
    one.mapped(10)[:3] = b"abc"
    other.mapped(100_000)[90_000:90_003] = b"xyz"
    assert one.mapped(100_000)[:3] == b"abc"
    assert one.mapped(100_000)[90_000:90_003] == b"xyz"
    one.close()
    other.close()


def test_it_has_no_name_that_could_stay_behind():
    before = set(os.listdir("/dev/shm"))
    memory = SharedMemory(anonymous_file("test"))
    memory.mapped(10)
    assert not [name for name in set(os.listdir("/dev/shm")) - before if "quickfit" in name]
    memory.close()


def test_closing_twice_closes_nothing_else():
    memory = SharedMemory(anonymous_file("test"))
    memory.close()
    taken = os.open(os.devnull, os.O_RDONLY)  # likely the same number
    memory.close()
    os.close(taken)


def test_everybody_sees_the_same_numbers():
    memory = SharedMemory(anonymous_file("board"))
    one, other = WorkerBoard(memory, 3), WorkerBoard(memory, 3)
    one.turn, one.edition = 5, 2
    for worker, item in enumerate((NO_TASK, LOADING_TASK, 2**40)):
        one.set_item(worker, item)
    assert (other.turn, other.edition) == (5, 2)
    assert [other.item_of(worker) for worker in range(3)] == [NO_TASK, LOADING_TASK, 2**40]


def test_a_task_arrives_as_it_was_sent():
    for items in ((5,), tuple(range(ITEMS_PER_TASK))):
        task = WorkerTask(3, 2, 1, 8, items)
        assert parse_task(task.to_bytes()) == task


def test_a_task_goes_through_a_pipe_in_one_piece():
    assert TASK_BYTES <= 4096


def test_replies_arrive_whole_whatever_the_pieces():
    failure = ItemFailure(2, 9, "ValueError: no", "Traceback")
    texts = {1: [np.array(b"a", object)]}
    sent = [
        WorkerReply(ReplyKind.READY),
        WorkerReply(ReplyKind.DONE, 4, 1, TaskOutcome([failure], texts)),
        WorkerReply(ReplyKind.DONE, 4, 2),
    ]
    content = b"".join(reply.to_bytes() for reply in sent)
    for size in (1, 7, len(content)):
        reader = ReplyReader()
        pieces = [content[start : start + size] for start in range(0, len(content), size)]
        got = [reply for piece in pieces for reply in reader.replies(piece)]
        assert [(reply.kind, reply.turn, reply.slot) for reply in got] == [
            (ReplyKind.READY, 0, -1),
            (ReplyKind.DONE, 4, 1),
            (ReplyKind.DONE, 4, 2),
        ]
        assert got[1].content.failures == [failure]
        assert got[1].content.texts == texts


def test_an_outcome_is_plain_until_there_is_something_to_tell():
    assert TaskOutcome().is_plain
    assert not TaskOutcome(end=0).is_plain
    assert not TaskOutcome(shapes=[(1,)]).is_plain
