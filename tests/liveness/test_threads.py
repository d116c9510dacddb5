"""Threads and processes of a run: stacks from the recording, the rest from the system."""

import pytest

from growing import Growing
from quickfit.liveness.system import Look, ProcessLook, TaskLook
from quickfit.liveness.threads import Processes

SCRIPT = "/project/train.py"
LOAD = (SCRIPT, 7, "load", True)
FIT = (SCRIPT, 33, "<module>", True)
KERAS = ("/usr/keras/trainer.py", 1, "fit", False)
SPAWN = ("/usr/multiprocessing/spawn.py", 9, "_fixup_main_from_path", False)
WINDOW_S = 3.0


@pytest.fixture
def run(tmp_path):
    run = Growing(tmp_path)
    yield run
    run.close()


class System:
    """Answers for the system: the threads of the script, and the processes below it."""

    def __init__(self, pid):
        self.pid, self.at_s, self.tasks, self.below = pid, 0.0, {}, ()

    def look(self, pid):
        process = ProcessLook(pid, 1, "python", 0.0, 0.0, "S", tasks=dict(self.tasks))
        return Look(self.at_s, process, self.below)


def watched(run):
    system = System(run.pid)
    processes = Processes(run.folder, run.pid, look=system.look)
    return system, processes


def seen(run, stack, *, at_s=1009.0, times=30):
    run.add("samples", at_s=at_s, stack=stack, seen=times)


def stands(run, native_id, role, stack, *, at_s=1009.0, name=""):
    run.add("threads", at_s=at_s, native_id=native_id, name=name, role=role, stack=stack)


def threads(processes):
    processes.look()
    return processes.threads(1010.0, WINDOW_S)


def test_a_thread_has_its_stack_its_share_and_what_it_waits_in(run):
    stack = run.stack("main", KERAS, FIT)
    seen(run, stack, times=27)
    seen(run, run.stack("main", FIT), times=3)
    stands(run, run.pid, "main", stack)
    system, processes = watched(run)
    system.tasks = {run.pid: TaskLook(5.0, "S", "futex")}
    threads(processes)
    system.at_s, system.tasks = 2.0, {run.pid: TaskLook(5.5, "S", "read", "/data")}
    (main,) = threads(processes)
    assert [frame.function for frame in main.frames] == ["fit", "<module>"]
    assert (main.role, main.share, main.cores) == ("main", 0.9, 0.25)
    assert (main.waits_in, main.waits_for) == ("read", "/data")
    assert main.lines == ((SCRIPT, 33, 30),)


def test_a_thread_that_stands_still_is_there_though_another_one_was_written_later(run):
    """A thread is written when it changes: those that stand still have older rows."""
    still, moving = run.stack("input", LOAD), run.stack("main", FIT)
    stands(run, 71, "input", still, at_s=1002.0)
    stands(run, run.pid, "main", moving, at_s=1009.5)
    _, processes = watched(run)
    assert {thread.role for thread in threads(processes)} == {"input", "main"}


def test_a_thread_is_where_it_was_seen_last(run):
    before, now = run.stack("main", FIT), run.stack("main", LOAD, FIT)
    stands(run, run.pid, "main", before, at_s=1005.0)
    stands(run, run.pid, "main", now, at_s=1009.0)
    _, processes = watched(run)
    (main,) = threads(processes)
    assert main.user_frame.function == "load"


def test_the_main_thread_is_where_samples_saw_it_since_it_stood_still(run):
    """Where threads stand is not written any more once something moves."""
    stands(run, run.pid, "main", run.stack("main", FIT), at_s=1002.0)
    seen(run, run.stack("main", LOAD, FIT), at_s=1009.0)
    _, processes = watched(run)
    (main,) = threads(processes)
    assert main.user_frame.function == "load"


def test_a_thread_that_has_ended_is_gone(run):
    stands(run, run.pid, "main", run.stack("main", FIT))
    stands(run, 71, "other", run.stack("other", LOAD))
    system, processes = watched(run)
    system.tasks = {run.pid: TaskLook(0.0, "S")}
    assert [thread.role for thread in threads(processes)] == ["main"]


def test_each_of_several_threads_of_one_kind_has_its_own_share_of_the_samples(run):
    one, other = run.stack("input", LOAD), run.stack("input", LOAD, KERAS)
    seen(run, one, times=60)
    seen(run, other, times=30)
    for native_id, stack in ((71, one), (72, one), (73, other)):
        stands(run, native_id, "input", stack)
    _, processes = watched(run)
    assert [thread.share for thread in threads(processes)] == [1.0, 1.0, 1.0]


def test_a_thread_that_moves_has_a_small_share(run):
    for line in range(20):
        seen(run, run.stack("main", (SCRIPT, line, "load", True)), times=5)
    stands(run, run.pid, "main", run.stack("main", (SCRIPT, 3, "load", True)))
    _, processes = watched(run)
    assert threads(processes)[0].share == pytest.approx(0.05)


def test_without_rows_of_threads_the_stack_seen_most_often_is_taken(run):
    seen(run, run.stack("main", LOAD, FIT), times=20)
    seen(run, run.stack("main", FIT), times=10)
    system, processes = watched(run)
    system.tasks = {run.pid: TaskLook(0.0, "S", "futex")}
    (main,) = threads(processes)
    assert (main.user_frame.function, main.waits_in) == ("load", "futex")
    assert main.share == pytest.approx(2 / 3)


def test_what_was_seen_long_ago_is_forgotten(run):
    stack = run.stack("main", FIT)
    seen(run, stack, at_s=900.0)
    stands(run, run.pid, "main", stack, at_s=900.0)
    _, processes = watched(run)
    assert threads(processes) == ()


def test_a_process_that_may_not_be_looked_at_has_stacks_all_the_same(run):
    stands(run, run.pid, "main", run.stack("main", FIT))
    processes = Processes(run.folder, run.pid, look=lambda pid: None)
    (main,) = threads(processes)
    assert (main.cores, main.waits_in) == (None, "")
    assert processes.children(1010.0, WINDOW_S) == ()


# -- the processes below it ----------------------------------------------------------------------


def below(pid, cpu_s, **given):
    task = TaskLook(cpu_s, "S", given.pop("waits_in", "futex"))
    return ProcessLook(pid, 1, "python", 0.0, cpu_s, "S", tasks={pid: task}, **given)


def children(processes):
    processes.look()
    return processes.children(1010.0, WINDOW_S)


def test_a_worker_has_its_cpu_since_the_last_look(run):
    system, processes = watched(run)
    system.below = (below(71, 5.0, is_fork=True),)
    children(processes)
    system.at_s, system.below = 2.0, (below(71, 6.0, is_fork=True), below(72, 0.1))
    first, second = children(processes)
    assert (first.cores, first.waits_in, first.is_fork) == (0.5, "futex", True)
    assert second.is_fork is False
    assert processes.born == 2


def test_workers_that_came_and_went_are_counted(run):
    system, processes = watched(run)
    for pid in range(71, 77):
        system.below = (below(pid, 0.0),)
        processes.look()
    assert processes.born == 6


def test_a_worker_that_records_has_a_stack(run, monkeypatch):
    monkeypatch.setattr("os.getpid", lambda: 4711)
    worker = Growing(run.folder)
    worker.add(
        "samples", at_s=1009.0, stack=worker.stack("main", (SCRIPT, 1, "<module>", True), SPAWN)
    )
    worker.close()
    system, processes = watched(run)
    system.below = (below(worker.pid, 0.0),)
    (child,) = children(processes)
    assert worker.pid == 4711
    assert child.frames[0].function == "<module>"
    assert child.runs_script
