"""Many files in several processes: the same answer, and a process that dies costs one file."""

import io
import multiprocessing
import os
import signal

import pytest

from checking.cases import CLEAN, SHUFFLED
from quickfit.causes import catalogue
from quickfit.checking import scanning
from quickfit.checking.scanning import Progress, Scanner, Task, check_all
from quickfit.checking.settings import Choice
from quickfit.lab.pool import WorkerError

# Newer Pythons warn of a fork beside threads; those are of the test runner, the command has none.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.fixture
def task(home):
    for number in range(12):
        (home / f"{number:02}.py").write_text(SHUFFLED if number % 3 else CLEAN)
    (home / "05.py").write_text("x = = 1\n")
    paths = tuple(str(home / f"{number:02}.py") for number in range(12))
    return Task(paths, Choice(frozenset(catalogue())))


def run(task, jobs):
    return check_all(task, task.paths, jobs=jobs, progress=Progress(io.StringIO()))


@pytest.mark.parametrize("jobs", [2, 3, 100])
def test_the_answer_does_not_depend_on_the_number_of_processes(task, jobs):
    assert run(task, jobs) == run(task, 1)
    assert [checked.path for checked in run(task, jobs)] == list(task.paths)


def test_few_files_are_checked_in_this_process(task, monkeypatch):
    monkeypatch.setattr(scanning, "WorkerPool", lambda *args, **options: 1 / 0)
    assert len(run(task, 0)) == 12


def test_many_files_are_checked_in_others(task, monkeypatch):
    monkeypatch.setattr(scanning, "MIN_PARALLEL", 2)
    monkeypatch.setattr(scanning, "whole_cores", lambda: 2)
    asked = []
    made = scanning.WorkerPool

    def ask(*args, count, **options):
        asked.append(count)
        return made(*args, count=count, **options)

    monkeypatch.setattr(scanning, "WorkerPool", ask)
    assert len(run(task, 0)) == 12
    assert asked == [2]


def test_no_files_are_no_error(task):
    assert check_all(task, (), jobs=0, progress=Progress(io.StringIO())) == []


def test_a_process_that_dies_costs_the_file_it_died_of(task, monkeypatch):
    check = Scanner.check

    def dies(self, path):
        if path.endswith("07.py"):
            os.kill(os.getpid(), signal.SIGKILL)
        return check(self, path)

    monkeypatch.setattr(Scanner, "check", dies)
    found = run(task, 2)
    monkeypatch.setattr(Scanner, "check", check)
    right = run(task, 1)
    assert "the process that checked this file died" in found[7].troubles[0].message
    assert found[7].path == task.paths[7]
    assert found[:7] + found[8:] == right[:7] + right[8:]


def test_an_error_of_ours_in_another_process_is_one_here(task, monkeypatch):
    monkeypatch.setattr(scanning, "scanned", lambda m, p: 1 / 0)
    with pytest.raises(WorkerError, match="ZeroDivisionError"):
        run(task, 2)


def test_the_work_is_shared_in_chunks_that_keep_the_order():
    paths = [str(number) for number in range(1000)]
    chunks = scanning._chunks(paths, 2)
    assert [path for chunk in chunks for path in chunk] == paths
    assert max(map(len, chunks)) <= scanning.MAX_CHUNK
    assert scanning._chunks(paths[:3], 2) == [["0"], ["1"], ["2"]]


def test_an_interrupt_ends_the_other_processes(task, monkeypatch):
    def interrupt(self, count):
        raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "advance", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(task, 2)
    assert not multiprocessing.active_children()
