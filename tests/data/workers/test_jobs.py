import functools

import numpy as np
import pytest

from quickfit.data.workers.jobs import (
    BatchesOf,
    ItemJob,
    StreamEnded,
    StreamJob,
    name_of,
    takes_rng,
)


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
    assert name_of(function) == name
