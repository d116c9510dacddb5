import numpy as np

from quickfit.data.workers.messages import (
    ITEMS_PER_TASK,
    TASK_BYTES,
    Failure,
    Kind,
    Outcome,
    Reply,
    ReplyReader,
    Task,
    task_of,
)


def test_a_task_arrives_as_it_was_sent():
    for items in ((5,), tuple(range(ITEMS_PER_TASK))):
        task = Task(3, 2, 1, 8, items)
        assert task_of(task.to_bytes()) == task


def test_a_task_goes_through_a_pipe_in_one_piece():
    assert TASK_BYTES <= 4096


def test_replies_arrive_whole_whatever_the_pieces():
    failure = Failure(2, 9, "ValueError: no", "Traceback")
    texts = {1: [np.array(b"a", object)]}
    sent = [
        Reply(Kind.READY),
        Reply(Kind.DONE, 4, 1, Outcome([failure], texts)),
        Reply(Kind.DONE, 4, 2),
    ]
    content = b"".join(reply.to_bytes() for reply in sent)
    for size in (1, 7, len(content)):
        reader = ReplyReader()
        pieces = [content[start : start + size] for start in range(0, len(content), size)]
        got = [reply for piece in pieces for reply in reader.replies(piece)]
        assert [(reply.kind, reply.turn, reply.slot) for reply in got] == [
            (Kind.READY, 0, -1),
            (Kind.DONE, 4, 1),
            (Kind.DONE, 4, 2),
        ]
        assert got[1].content.failures == [failure]
        assert got[1].content.texts == texts


def test_an_outcome_is_plain_until_there_is_something_to_tell():
    assert Outcome().is_plain
    assert not Outcome(end=0).is_plain
    assert not Outcome(shapes=[(1,)]).is_plain
