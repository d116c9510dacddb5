"""Workers that take items: answers, news, deaths, and nothing left behind."""

import signal
import sys
import threading
from pathlib import Path

import psutil
import pytest

from quickfit.lab.pool import Died, Done, News, Waited, WorkerError, WorkerOptions, WorkerPool

from launch.sessions import eventually

sys.path.insert(0, str(Path(__file__).parent))
import workers

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
FRESH, FORKED = WorkerOptions(), WorkerOptions(forks=True)
BOTH = pytest.mark.parametrize("options", [FRESH, FORKED], ids=["fresh", "forked"])


def pool(work, common=None, *, count=2, options=FORKED):
    if options.forks and threading.active_count() > 1:
        pytest.skip("forks only without other threads")
    return WorkerPool(work, common, count=count, options=options)


def events(found):
    return [event for event in found if not isinstance(event, Waited)]


@BOTH
def test_every_item_gets_its_answer_after_its_news(options):
    seen = events(pool(workers.double, 10, options=options).run([1, 2, 3]))
    assert {event.item: event.answer for event in seen if isinstance(event, Done)} == {
        1: 10,
        2: 20,
        3: 30,
    }
    for item in (1, 2, 3):
        own = [event for event in seen if event.item == item]
        assert own == [News(item, f"doubling {item}"), Done(item, 10 * item)]


@BOTH
def test_a_death_costs_its_item_alone_and_it_can_be_tried_again(options):
    crew = pool(workers.die_over, 2, options=options)
    died, done = [], []
    for event in crew.run([1, 2, 3, 4]):
        if isinstance(event, Died):
            died.append(event)
            crew.again(5)
        elif isinstance(event, Done):
            done.append(event.item)
    assert died == [Died(2, -signal.SIGKILL)]
    assert sorted(done) == [1, 3, 4, 5]


def test_an_error_of_the_function_is_raised_with_its_traceback():
    with pytest.raises(WorkerError, match="ValueError: cannot do 7"):
        events(pool(workers.fail).run([7]))


@BOTH
def test_leaving_early_ends_the_workers(options):
    run = pool(workers.wait_forever, options=options).run([1, 2])
    pids = []
    while len(pids) < 2:
        event = next(run)
        pids += [event.message] if isinstance(event, News) else []
    run.close()
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


def test_items_are_asked_for_one_by_one():
    asked = []

    def items():
        for number in range(100):
            asked.append(number)
            yield number

    for event in pool(workers.double, 1, count=1).run(items()):
        if isinstance(event, Done):
            break
    assert len(asked) <= 2


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    import subprocess

    program = f"""
import sys
sys.path[:0] = [{str(Path(__file__).parent)!r}]
import workers
from quickfit.lab.pool import WorkerPool
for event in WorkerPool(workers.wait_forever, None, count=1).run([1]):
    print(getattr(event, "message", ""), flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        pid = 0
        while not pid:
            pid = int(parent.stdout.readline().strip() or 0)
        parent.kill()
    eventually(lambda: not psutil.pid_exists(pid), "the worker is gone")
