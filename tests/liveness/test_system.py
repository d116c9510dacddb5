"""What the system tells of a process: read from text, and of real processes that wait."""

import os
import subprocess
import sys
import threading
import time

import pytest

from quickfit.lab.script_trial import started
from quickfit.launch.target import Target
from quickfit.liveness import system

from launch.sessions import eventually

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("running\n", ("", None)),
        ("-1 0x7ffc 0x7f\n", ("", None)),
        (None, ("", None)),
        ("", ("", None)),
        ("x86 0x1", ("", None)),
    ],
)
def test_a_thread_that_runs_or_may_not_be_read_is_in_no_call(told, expected):
    assert system.system_call(told) == expected


def test_a_call_has_its_name_and_the_file_it_is_about(monkeypatch):
    monkeypatch.setattr(system, "_CALLS", {0: "read", 202: "futex"})
    assert system.system_call("0 0x5 0x7f00 0x2000 0x0 0x0 0x0 0x7ffc 0x7f") == ("read", 5)
    assert system.system_call("202 0x7f00 0x80 0x0 0x0 0x0 0x0 0x7ffc 0x7f") == ("futex", None)
    assert system.system_call("999 0x1 0x2") == ("system call 999", None)


def test_a_name_with_brackets_and_blanks_is_no_trouble():
    name, fields = system.split_stat("12 (my (odd) name) S 1 12 12 0")
    assert (name, fields[:2]) == ("my (odd) name", ["S", "1"])


def test_a_process_that_is_not_there_is_not_looked_at():
    assert system.look(2**22 + 12345) is None


def python(code, **options):
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)


@pytest.fixture
def start():
    """Start a process that says `ready`; end it afterwards."""
    started = []

    def begin(code, *waits_in, **options):
        child = python(code, **options)
        started.append(child)
        assert child.stdout.readline() == "ready\n"
        eventually(lambda: system.look(child.pid).process.waits_in in waits_in, "it waits")
        return child

    yield begin
    for child in started:
        child.kill()
        child.wait()
        child.stdout.close()
        if child.stdin is not None:
            child.stdin.close()


SLEEP = ("clock_nanosleep", "pselect6", "select")
READY = "import sys, time, threading, os\nprint('ready', flush=True)\n"


@linux
def test_sees_a_process_that_sleeps(start):
    before_s = system.uptime_s()
    child = start(READY + "time.sleep(60)", *SLEEP)
    looked = system.look(child.pid)
    assert looked.process.waits_in in SLEEP
    assert looked.process.state == "S"
    assert looked.process.parent == os.getpid()
    tick_s = 0.02  # the two clocks count hundredths
    assert before_s - tick_s <= looked.process.began_s <= system.uptime_s() + tick_s


@linux
def test_sees_a_process_that_reads_stdin_or_a_pipe(start):
    asks = start(READY + "sys.stdin.read()", "read", stdin=subprocess.PIPE)
    main = system.look(asks.pid).process.tasks[asks.pid]
    assert (main.waits_in, main.waits_for) == ("read", "stdin")
    pipes = start(READY + "a, b = os.pipe(); os.read(a, 1)", "read")
    main = system.look(pipes.pid).process.tasks[pipes.pid]
    assert main.waits_in == "read"
    assert main.waits_for.startswith("pipe:")


@linux
def test_sees_a_process_that_waits_for_a_lock(start):
    child = start(READY + "lock = threading.Lock(); lock.acquire(); lock.acquire()", "futex")
    assert system.look(child.pid).process.waits_in == "futex"


@linux
def test_sees_which_thread_uses_the_cpu(start):
    burn = "def burn():\n while True: pass\nthreading.Thread(target=burn, daemon=True).start()\n"
    child = start(READY + burn + "time.sleep(60)", *SLEEP)
    before = system.look(child.pid).process.tasks

    def used_s():
        tasks = system.look(child.pid).process.tasks
        return {number: task.cpu_s - before[number].cpu_s for number, task in tasks.items()}

    eventually(lambda: max(used_s().values()) >= 0.1, "a thread uses the CPU")
    assert len(used_s()) == 2
    # However busy the machine, the one that burns uses far more than the one that sleeps.
    assert max(used_s(), key=used_s().get) != child.pid


@linux
def test_sees_forked_and_other_children(start):
    code = "import subprocess\nif os.fork() == 0: time.sleep(60)\n"
    child = start(
        "import os, time, sys\n" + code + "p = subprocess.Popen(['sleep', '60'])\n"
        "print('ready', flush=True)\ntime.sleep(60)",
        *SLEEP,
    )
    # The command line of a new program is there a moment after it has begun.
    eventually(lambda: "sleep 60" in [p.name for p in system.look(child.pid).below], "it runs")
    below = system.look(child.pid).below
    try:
        assert sorted(one.is_fork for one in below) == [False, True]
        assert {one.parent for one in below} == {child.pid}
    finally:
        for one in below:
            os.kill(one.pid, 9)


@linux
def test_a_look_at_many_threads_is_cheap():
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(60)]
    for thread in threads:
        thread.start()
    used = []
    for _ in range(5):
        before = time.process_time()
        looked = system.look(os.getpid())
        used.append(time.process_time() - before)
    stop.set()
    for thread in threads:
        thread.join()
    assert len(looked.process.tasks) >= 61
    assert min(used) < 0.02  # 2 ms on a machine of its own


def test_a_process_has_its_own_number_where_it_is_seen_by_it():
    assert system.number_inside(os.getpid()) == os.getpid()
    assert system.look_inside(os.getpid()).process.pid == os.getpid()


THREADED = """
import os, threading, time
thread = threading.Thread(target=time.sleep, args=(1000,), daemon=True)
thread.start()
child = os.fork()
if child:
    print(os.getpid(), thread.native_id, child, flush=True)
time.sleep(1000)
"""


def test_a_trial_is_numbered_as_it_numbers_itself(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "train.py").write_text(THREADED)
    with started(Target(script="train.py"), tmp_path / "scratch", cwd=home) as trial:
        log = trial.scratch / "stdout.log"
        eventually(lambda: log.read_text().endswith("\n"), "it runs")
        pid, thread, child = map(int, log.read_text().split())
        found = system.look_inside(trial.group)
    assert found.process.pid == pid
    assert {pid, thread} <= set(found.process.tasks)
    assert [one.pid for one in found.below] == [child]
    assert list(found.below[0].tasks) == [child]
