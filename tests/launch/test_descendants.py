"""Processes a script starts carry the probes, and none of them is left behind."""

import json
import os
import signal
import sqlite3
import subprocess
from contextlib import closing, suppress

from quickfit.recording.folder import process_files

from launch.sessions import (
    PATIENCE_S,
    QUICKFIT,
    clean_env,
    eventually,
    is_alive,
    newest_run,
    pid_in,
    quickfit,
)

CHILD = "import os; print(os.environ['QUICKFIT_RUN'] != '', 'QUICKFIT_ROLE' in os.environ)"
LEAVES = """
import os, signal, subprocess, sys, time
{before}
process = subprocess.Popen([sys.executable, "-c", {child!r}], stdout=subprocess.PIPE{how})
process.stdout.readline()
print(f"pid={{process.pid}}", flush=True)
os._exit(4)
"""
# A daemon keeps none of our pipes: whoever reads them to the end would wait for it.
DETACHED = ", stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True"
SLEEPS = "print(flush=True); import time; time.sleep(600)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEPS


def run(tmp_path, source, **fields):
    (tmp_path / "train.py").write_text(source.format(before="", **fields) if fields else source)
    return quickfit(tmp_path, "run", "train.py")


def test_an_orphan_is_ended_and_named(tmp_path):
    done = run(tmp_path, LEAVES, child=SLEEPS, how="")
    pid = pid_in(done.stdout, "pid")
    assert done.returncode == 4
    assert not is_alive(pid)
    assert f"quickfit: process {pid} (".encode() in done.stderr
    assert b"did not end with the script; ending it" in done.stderr
    assert b"killing it" not in done.stderr


def test_an_orphan_that_ignores_sigterm_is_killed(tmp_path):
    done = run(tmp_path, LEAVES, child=STUBBORN, how="")
    assert not is_alive(pid_in(done.stdout, "pid"))
    assert b"did not react to SIGTERM; killing it" in done.stderr


def test_an_orphan_of_an_orphan_is_found(tmp_path):
    inner = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEPS!r}])"
    done = run(tmp_path, LEAVES, child=inner, how="")
    assert b"did not end with the script" in done.stderr
    assert done.returncode == 4


def test_a_process_with_a_session_of_its_own_is_left_running(tmp_path):
    done = run(tmp_path, LEAVES, child=SLEEPS, how=DETACHED)
    pid = pid_in(done.stdout, "pid")
    try:
        assert is_alive(pid)  # it lives for ten minutes, and nothing waits for it
        assert b"has a session of its own and is left running" in done.stderr
        assert b"ending it" not in done.stderr
    finally:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: not is_alive(pid), "the daemon is gone")


def test_a_process_that_ends_by_itself_is_waited_for_in_silence(tmp_path):
    # It ends when the script has: when it gets another parent.
    child = (
        "import os, time; script = os.getppid(); print(flush=True)\n"
        "while os.getppid() == script: time.sleep(0.01)\nos._exit(0)"
    )
    done = run(tmp_path, LEAVES, child=child, how="")
    assert not is_alive(pid_in(done.stdout, "pid"))
    assert b"process" not in done.stderr.partition(b"recording in")[2].splitlines()[0]
    assert b"ending it" not in done.stderr


def test_what_ran_below_us_before_the_script_is_spared(tmp_path):
    (tmp_path / "train.py").write_text("print('done')")
    command = f"sleep 600 & echo pid=$!; exec {' '.join(QUICKFIT)} run train.py"
    with subprocess.Popen(
        ["sh", "-c", command],
        cwd=tmp_path,
        env=clean_env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        pid = pid_in(process.stdout.readline(), "pid")
        process.wait(PATIENCE_S)
        assert is_alive(pid)
        os.kill(pid, signal.SIGKILL)


def roles(tmp_path):
    """Return the roles of the processes that recorded something."""
    found = []
    for file in process_files(newest_run(tmp_path)):
        # A pool may end its worker between making the file and filling it.
        with closing(sqlite3.connect(file)) as db, suppress(sqlite3.OperationalError):
            found += db.execute("SELECT value FROM meta WHERE key = 'role'").fetchone()
    return sorted(json.loads(role) for role in found)


def test_a_subprocess_is_a_descendant(tmp_path):
    done = run(
        tmp_path,
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {CHILD!r}], check=True)\n",
    )
    assert done.stdout == b"True False\n"
    assert roles(tmp_path) == ["descendant", "main"]


def test_spawned_and_forked_workers_run_with_classes_of_the_script(tmp_path):
    source = (
        "import multiprocessing, os, sys\n"
        "class Point:\n    x = 3\n"
        "def work(point):\n"
        "    return type(point).__name__, point.x, 'QUICKFIT_RUN' in os.environ\n"
        "if __name__ == '__main__':\n"
        "    for way in ('spawn', 'fork', 'forkserver'):\n"
        "        with multiprocessing.get_context(way).Pool(1) as pool:\n"
        "            print(way, pool.map(work, [Point()]), flush=True)\n"
    )
    done = run(tmp_path, source)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.splitlines() == [
        f"{way} [('Point', 3, True)]".encode() for way in ("spawn", "fork", "forkserver")
    ]
    assert b"ending it" not in done.stderr
    assert roles(tmp_path).count("main") == 1
