import gc
import os
import signal
import sys

import numpy as np
import psutil
import pytest

from quickfit.data.workers.arrays import find_layout
from quickfit.data.workers.jobs import ItemJob
from quickfit.data.workers.messages import JobBroken, PoolClosed, ReplyKind, WorkerDied, WorkerTask
from quickfit.data.workers.processes import ProcessPool
from quickfit.data.workers.worker import FirstLook
from quickfit.errors import PipelineError


def pool_of(function, *, workers=1, first=0, setup=None, rows=4):
    pool = ProcessPool(workers=workers, slots=2)
    pool.bring(ItemJob(function, range(1000), 1, True, setup))
    pool.bring(find_layout(first, rows=rows))
    pool.start_workers(workers)
    return pool


def done(pool, *tasks):
    """Give tasks and return the slots and outcomes of all of them."""
    for task in tasks:
        pool.give(task)
    replies = []
    while len(replies) < len(tasks):
        replies += [reply for reply in pool.wait() if reply.kind is ReplyKind.DONE]
    return [(reply.slot, reply.content) for reply in replies]


def wait_on(pool):
    """Wait for a pool that never does what it was told."""
    while True:
        pool.wait()


def value_of(function, item=0):
    """Return what a function gives in a worker, as an array."""
    pool = ProcessPool(workers=1, slots=1)
    pool.bring(ItemJob(function, range(1000), 1, True))
    pool.start_workers(1, FirstLook(1, None))
    pool.bring(pool.first().layout)
    ((_, outcome),) = done(pool, WorkerTask(0, 0, 0, 0, (item,)))
    arrays = pool.slots[0].take(find_layout(function(item), rows=None), 1, outcome)
    pool.close()
    return arrays[0] if not outcome.texts else outcome.texts[0][0]


def test_results_come_back_through_shared_memory():
    pool = pool_of(lambda item: np.full(3, item), first=np.zeros(3, int))
    assert done(pool, WorkerTask(0, 0, 1, 2, (5, 6))) == [(1, None)]
    (array,) = pool.slots[1].take(find_layout(np.zeros(3, int), rows=4), 4, None)
    assert array[2:].tolist() == [[5, 5, 5], [6, 6, 6]]
    pool.close()


def test_a_worker_loads_neither_tensorflow_nor_keras():
    heavy = ("tensorflow", "keras", "pandas", "PIL")
    assert not value_of(lambda _: [name in sys.modules for name in heavy]).any()


def test_a_worker_has_the_folder_and_the_import_paths_of_its_owner(monkeypatch, tmp_path):
    (tmp_path / "beside_the_script.py").write_text("ANSWER = 42")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def answer(_):
        import beside_the_script

        assert os.path.exists("beside_the_script.py")
        return beside_the_script.ANSWER

    assert value_of(answer) == 42


def test_a_worker_sees_no_gpu_and_uses_one_core_unless_told_otherwise(monkeypatch):
    monkeypatch.setenv("MKL_NUM_THREADS", "3")
    names = ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    texts = value_of(lambda _: np.array([os.environ.get(name, "") for name in names]))
    assert texts.tolist() == [b"-1", b"1", b"3"]


def test_each_worker_runs_setup_before_its_first_item():
    def begin():
        os.environ["BEGUN"] = "yes"

    pool = pool_of(lambda item: int(os.environ["BEGUN"] == "yes"), setup=begin)
    assert done(pool, WorkerTask(0, 0, 0, 0, (1,))) == [(0, None)]
    pool.close()


def test_a_process_that_cannot_be_started_is_told(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(PipelineError) as refused:
        pool_of(abs, workers=2)
    assert "worker process 1 of 2 could not be started: [Errno 2]" in str(refused.value)
    assert 'kind="threads"' in str(refused.value)


def test_tasks_of_an_old_turn_are_only_ticked_off():
    pool = pool_of(lambda item: os._exit(1))
    pool.turn = 3
    ((_, outcome),) = done(pool, WorkerTask(2, 0, 0, 0, (1,)))
    assert outcome.is_undone
    pool.close()


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (lambda item: os._exit(7), 7),
        (lambda item: os.kill(os.getpid(), signal.SIGSEGV), -signal.SIGSEGV),
        (lambda item: os.kill(os.getpid(), signal.SIGKILL), -signal.SIGKILL),
    ],
)
def test_a_worker_that_dies_is_told_with_its_item(ending, code):
    pool = pool_of(ending)
    pool.give(WorkerTask(0, 0, 0, 0, (17,)))
    with pytest.raises(WorkerDied) as death:
        wait_on(pool)
    assert (death.value.item, death.value.code) == (17, code)
    pool.close()


def test_a_worker_that_closes_its_socket_is_ended_and_told():
    pool = pool_of(lambda item: os.closerange(3, 100))
    pool.give(WorkerTask(0, 0, 0, 0, (17,)))
    with pytest.raises(WorkerDied) as death:
        wait_on(pool)
    assert death.value.item == 17
    pool.close()


def test_a_setup_that_fails_is_told_with_its_traceback():
    def begin():
        raise FileNotFoundError("model.bin")

    pool = pool_of(abs, setup=begin)
    with pytest.raises(JobBroken, match=r"FileNotFoundError: model\.bin") as broken:
        wait_on(pool)
    assert "in begin" in broken.value.trace
    pool.close()


def test_more_tasks_than_a_pipe_holds_are_all_done():
    pool = pool_of(lambda item: item)
    tasks = [WorkerTask(0, 0, 0, 0, tuple(range(4)))] * 2200
    assert len(done(pool, *tasks)) == 2200
    assert pool.pending == [0, 0]
    pool.close()


def test_closing_leaves_no_process_and_no_descriptor_behind():
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    pool = pool_of(abs, workers=2)
    done(pool, WorkerTask(0, 0, 0, 0, (1,)))
    assert len(psutil.Process().children()) == 2
    pool.close()
    pool.close()
    assert psutil.Process().children() == []
    with pytest.raises(PoolClosed):
        pool.wait()
    del pool
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_pool_that_is_forgotten_is_closed_even_in_the_middle_of_an_item():
    pool = pool_of(lambda item: signal.pause())
    pool.give(WorkerTask(0, 0, 0, 0, (1,)))
    del pool
    gc.collect()
    assert psutil.Process().children() == []


def test_programs_that_the_function_starts_inherit_nothing():
    import subprocess

    def descriptors(_):
        listing = [sys.executable, "-c", "import os; print(len(os.listdir('/proc/self/fd')))"]
        return int(subprocess.run(listing, capture_output=True, check=True).stdout)

    assert value_of(descriptors) <= 4  # its standard streams, and the listing itself
