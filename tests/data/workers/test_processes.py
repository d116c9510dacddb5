import gc
import os
import signal
import sys

import numpy as np
import psutil
import pytest

from quickfit.data.workers.crew import CrewClosed, JobBroken, WorkerDied
from quickfit.data.workers.jobs import ItemJob
from quickfit.data.workers.layout import layout_of
from quickfit.data.workers.messages import Kind, Task
from quickfit.data.workers.processes import ProcessCrew
from quickfit.data.workers.working import FirstLook
from quickfit.errors import PipelineError


def crew_of(function, *, workers=1, first=0, setup=None, rows=4):
    crew = ProcessCrew(workers=workers, slots=2)
    crew.bring(ItemJob(function, range(1000), 1, True, setup))
    crew.bring(layout_of(first, rows=rows))
    crew.hire(workers)
    return crew


def done(crew, *tasks):
    """Give tasks and return the slots and outcomes of all of them."""
    for task in tasks:
        crew.give(task)
    replies = []
    while len(replies) < len(tasks):
        replies += [reply for reply in crew.wait() if reply.kind is Kind.DONE]
    return [(reply.slot, reply.content) for reply in replies]


def wait_on(crew):
    """Wait for a crew that never does what it was told."""
    while True:
        crew.wait()


def value_of(function, item=0):
    """Return what a function gives in a worker, as an array."""
    crew = ProcessCrew(workers=1, slots=1)
    crew.bring(ItemJob(function, range(1000), 1, True))
    crew.hire(1, FirstLook(1, None))
    crew.bring(crew.first().layout)
    ((_, outcome),) = done(crew, Task(0, 0, 0, 0, (item,)))
    arrays = crew.slots[0].take(layout_of(function(item), rows=None), 1, outcome)
    crew.close()
    return arrays[0] if not outcome.texts else outcome.texts[0][0]


def test_results_come_back_through_shared_memory():
    crew = crew_of(lambda item: np.full(3, item), first=np.zeros(3, int))
    assert done(crew, Task(0, 0, 1, 2, (5, 6))) == [(1, None)]
    (array,) = crew.slots[1].take(layout_of(np.zeros(3, int), rows=4), 4, None)
    assert array[2:].tolist() == [[5, 5, 5], [6, 6, 6]]
    crew.close()


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

    crew = crew_of(lambda item: int(os.environ["BEGUN"] == "yes"), setup=begin)
    assert done(crew, Task(0, 0, 0, 0, (1,))) == [(0, None)]
    crew.close()


def test_a_process_that_cannot_be_started_is_told(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(PipelineError) as refused:
        crew_of(abs, workers=2)
    assert "worker process 1 of 2 could not be started: [Errno 2]" in str(refused.value)
    assert 'kind="threads"' in str(refused.value)


def test_tasks_of_an_old_turn_are_only_ticked_off():
    crew = crew_of(lambda item: os._exit(1))
    crew.turn = 3
    ((_, outcome),) = done(crew, Task(2, 0, 0, 0, (1,)))
    assert outcome.is_undone
    crew.close()


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (lambda item: os._exit(7), 7),
        (lambda item: os.kill(os.getpid(), signal.SIGSEGV), -signal.SIGSEGV),
        (lambda item: os.kill(os.getpid(), signal.SIGKILL), -signal.SIGKILL),
    ],
)
def test_a_worker_that_dies_is_told_with_its_item(ending, code):
    crew = crew_of(ending)
    crew.give(Task(0, 0, 0, 0, (17,)))
    with pytest.raises(WorkerDied) as death:
        wait_on(crew)
    assert (death.value.item, death.value.code) == (17, code)
    crew.close()


def test_a_worker_that_closes_its_socket_is_ended_and_told():
    crew = crew_of(lambda item: os.closerange(3, 100))
    crew.give(Task(0, 0, 0, 0, (17,)))
    with pytest.raises(WorkerDied) as death:
        wait_on(crew)
    assert death.value.item == 17
    crew.close()


def test_a_setup_that_fails_is_told_with_its_traceback():
    def begin():
        raise FileNotFoundError("model.bin")

    crew = crew_of(abs, setup=begin)
    with pytest.raises(JobBroken, match=r"FileNotFoundError: model\.bin") as broken:
        wait_on(crew)
    assert "in begin" in broken.value.trace
    crew.close()


def test_more_tasks_than_a_pipe_holds_are_all_done():
    crew = crew_of(lambda item: item)
    tasks = [Task(0, 0, 0, 0, tuple(range(4)))] * 2200
    assert len(done(crew, *tasks)) == 2200
    assert crew.pending == [0, 0]
    crew.close()


def test_closing_leaves_no_process_and_no_descriptor_behind():
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    crew = crew_of(abs, workers=2)
    done(crew, Task(0, 0, 0, 0, (1,)))
    assert len(psutil.Process().children()) == 2
    crew.close()
    crew.close()
    assert psutil.Process().children() == []
    with pytest.raises(CrewClosed):
        crew.wait()
    del crew
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_crew_that_is_forgotten_is_closed_even_in_the_middle_of_an_item():
    crew = crew_of(lambda item: signal.pause())
    crew.give(Task(0, 0, 0, 0, (1,)))
    del crew
    gc.collect()
    assert psutil.Process().children() == []


def test_programs_that_the_function_starts_inherit_nothing():
    import subprocess

    def descriptors(_):
        listing = [sys.executable, "-c", "import os; print(len(os.listdir('/proc/self/fd')))"]
        return int(subprocess.run(listing, capture_output=True, check=True).stdout)

    assert value_of(descriptors) <= 4  # its standard streams, and the listing itself
