import threading

import pytest

from quickfit.errors import PipelineError, UsageError


def quick(item):
    return item


def slow(item):
    return sum(range(200_000)) * 0 + item


@pytest.fixture
def locked():
    """Return a function that holds a lock, as one written in a script would."""
    lock = threading.Lock()

    def locked(item):
        with lock:
            return item

    return locked


def fails(item):
    raise ValueError("broken file")


def test_slow_functions_go_to_processes(supply):
    staffing = supply(slow, 10, kind="auto").staffing
    assert staffing.uses_processes
    assert staffing.reason.startswith("processes since a call takes")


def test_quick_functions_stay_in_threads(supply):
    staffing = supply(quick, 10, kind="auto").staffing
    assert not staffing.uses_processes
    assert staffing.reason.startswith("threads since a call takes only")


def test_functions_that_cannot_leave_stay_in_threads_and_say_why(supply, locked):
    staffing = supply(locked, 10, kind="auto").staffing
    assert not staffing.uses_processes
    assert staffing.reason == (
        "threads since `lock`, which `locked` uses, (a lock) exists only in this process"
    )


def test_who_asks_for_processes_is_told_why_not(supply, locked):
    with pytest.raises(UsageError) as refused:
        supply(locked, 10)
    text = str(refused.value)
    assert "`locked` cannot run in other processes: `lock`, which `locked` uses, (a lock)" in text
    assert "setup=" in text
    assert 'kind="threads"' in text


@pytest.mark.parametrize("kind", ["auto", "processes", "threads"])
def test_a_first_item_that_fails_is_told_at_once(supply, kind):
    with pytest.raises(PipelineError, match="`fails` failed on item 0: ValueError: broken file"):
        supply(fails, 10, kind=kind)


@pytest.mark.parametrize("kind", ["processes", "threads"])
def test_a_setup_that_fails_is_told_at_once(supply, kind):
    with pytest.raises(PipelineError, match="could not be made ready in a worker: ValueError"):
        supply(quick, 10, kind=kind, setup=lambda: fails(0))


def test_a_first_item_that_kills_its_worker_is_told(supply):
    def dies(item):
        import os

        os._exit(9)

    with pytest.raises(PipelineError, match="ended with exit code 9 while it ran `dies` on item 0"):
        supply(dies, 10, kind="auto")


def test_what_only_this_process_can_load_stays_here(supply):
    def reader(item):
        return item

    def only_here():
        import os

        if os.getpid() != here:
            raise ImportError("no module named mine")

    import os

    here = os.getpid()
    staffing = supply(reader, 10, kind="auto", setup=only_here).staffing
    assert staffing.reason == (
        "threads since a process could not load it: ImportError: no module named mine"
    )
