"""Watching starts, survives forks and full disks, and ends with everything on disk."""

import subprocess
import sys
import textwrap

import pytest

from quickfit.probes import session
from quickfit.probes._state import Current
from quickfit.recording import reader

from launch.sessions import QUICKFIT, clean_env, newest_run, of_the_script, python, quickfit

# A process lives until its first reading is on disk; the file has its number.
WAIT = """
import os, sqlite3, sys, time
def recorded():
    file = os.path.join(os.environ["QUICKFIT_RUN"], f"{os.getpid()}.sqlite")
    for _ in range(5000):
        try:
            db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
            if db.execute("SELECT count(*) FROM machine").fetchone()[0]:
                return
        except sqlite3.Error:
            pass
        time.sleep(0.01)
    sys.exit("never recorded")
"""


def run(tmp_path, source, *, wait=WAIT, flags=()):
    """Run a script with and without quickfit; return the watched one and its recording."""
    (tmp_path / "train.py").write_text(wait + textwrap.dedent(source))
    watched = python(tmp_path, *flags, "-m", "quickfit", "run", "train.py")
    assert watched.returncode == 0, watched.stderr.decode()
    recording = reader.read(newest_run(tmp_path))
    assert recording.problems == []
    return watched, recording


def alike(tmp_path, source, *flags):
    """Check that a script cannot tell whether it is watched; return the watched one."""
    (tmp_path / "train.py").write_text(textwrap.dedent(source))
    plain = python(tmp_path, *flags, "train.py")
    watched = python(tmp_path, *flags, "-m", "quickfit", "run", "train.py")
    assert watched.stdout == plain.stdout
    assert watched.returncode == plain.returncode
    assert of_the_script(watched.stderr) == plain.stderr
    return watched


def pids(recording):
    return {process.facts["pid"] for process in recording.others}


def test_the_script_is_the_main_process_and_its_end_is_recorded(tmp_path):
    _, recording = run(tmp_path, "print(os.getpid())")
    assert recording.main.is_main
    assert recording.main.facts["ended_s"] > recording.main.facts["started_s"]
    assert recording.main.rows("machine")
    assert recording.others == []


def test_a_fork_has_a_recording_of_its_own_and_the_parents_goes_on(tmp_path):
    source = """
    child = os.fork()
    if child == 0:
        recorded()
        os._exit(0)
    os.waitpid(child, 0)
    print(child)
    """
    watched, recording = run(tmp_path, source)
    (child,) = recording.others
    assert child.facts["pid"] == int(watched.stdout)
    assert child.facts["role"] == "descendant"
    assert child.facts["parent_pid"] == recording.main.facts["pid"]
    assert child.rows("machine")
    assert "ended_s" in recording.main.facts
    times = [row["at_s"] for row in recording.main.rows("machine")]
    assert times == sorted(times)
    assert len(times) >= 2, "before the fork and after it"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_multiprocessing_are_recorded(tmp_path, method):
    source = f"""
    import multiprocessing
    def work(number):
        recorded()
        return os.getpid()
    if __name__ == "__main__":
        with multiprocessing.get_context("{method}").Pool(2) as pool:
            print(*sorted(set(pool.map(work, range(4), chunksize=1))))
    """
    watched, recording = run(tmp_path, source)
    assert set(map(int, watched.stdout.split())) <= pids(recording)


def test_a_subprocess_is_recorded_with_its_own_children(tmp_path):
    source = """
    import subprocess
    if len(sys.argv) < 3:
        level = [*sys.argv[1:], "x"]
        subprocess.run([sys.executable, __file__, *level], check=True)
    recorded()
    print(os.getpid(), flush=True)
    """
    watched, recording = run(tmp_path, source)
    grandchild, child, main = map(int, watched.stdout.split())
    assert recording.main.facts["pid"] == main
    assert {grandchild, child} <= pids(recording)


def test_a_forked_child_does_not_stop_early_with_its_parents_steps(tmp_path, monkeypatch, state):
    state.stop_steps = 5
    state.writer.folder = tmp_path
    monkeypatch.setattr(session, "_start_background", lambda state: None)
    session._forking.acquire()
    state.probes["stacks"].turn_off("failed", "why")
    state.probes["tf_data"].active = {"a"}
    session._after_fork_in_child()
    child = Current.state
    assert child is not state
    assert child.stop_steps is None
    assert child.loops == []
    assert (child.probes["stacks"].state, child.probes["stacks"].is_off) == ("failed", True)
    assert child.probes["tf_data"].active == {"a"}
    assert child.writer.facts["role"] == "descendant"


def test_threads_that_fork_at_once_all_get_their_recordings(tmp_path):
    source = """
    import threading
    made = []
    def fork():
        child = os.fork()
        if child == 0:
            recorded()
            os._exit(0)
        made.append(child)
        os.waitpid(child, 0)
    threads = [threading.Thread(target=fork) for _ in range(6)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(*made)
    # The script's one thread and two of ours, once those that were joined are gone.
    for _ in range(2000):
        if len(os.listdir("/proc/self/task")) <= 3: break
        time.sleep(0.01)
    else:
        sys.exit("a thread too many")
    """
    watched, recording = run(tmp_path, source)
    assert set(map(int, watched.stdout.split())) == pids(recording)


def test_the_script_sees_its_own_threads_only(tmp_path):
    alike(
        tmp_path,
        """
        import threading
        print(threading.active_count(), threading.enumerate()[0].name, len(threading._active))
        threading.Thread(target=lambda: print(threading.active_count())).start()
        """,
    )


def test_forking_warns_of_nothing(tmp_path):
    alike(
        tmp_path,
        """
        import os, subprocess, sys, time
        time.sleep(0.2)
        child = os.fork()
        if child == 0:
            os._exit(3)
        print(os.waitpid(child, 0)[1] >> 8)
        print(subprocess.run(["true"], preexec_fn=lambda: None).returncode)
        """,
        *("-W", "error"),
    )


def test_an_error_in_a_fork_handler_of_the_script_is_its_own(tmp_path):
    alike(
        tmp_path,
        """
        import os
        os.register_at_fork(before=lambda: print("before"), after_in_parent=lambda: print("after"))
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        """,
    )


def test_exit_handlers_run_in_their_order(tmp_path):
    alike(
        tmp_path,
        """
        import atexit, sys
        atexit.register(print, "first in, last out")
        atexit.register(print, "last in, first out")
        sys.exit(4)
        """,
    )


@pytest.mark.parametrize("late", ["", "if os.fork() == 0: os._exit(0)\nos.wait()"])
def test_a_script_that_removes_the_recording_is_not_disturbed(tmp_path, late):
    source = f"""
import os, shutil, sys, time
run = os.environ.get("QUICKFIT_RUN")
if run:
    time.sleep(0.3)
    shutil.rmtree(run)
{late}
print("still here")
sys.exit(5)
"""
    (tmp_path / "train.py").write_text(source)
    watched = quickfit(tmp_path, "run", "train.py")
    assert (watched.stdout, watched.returncode) == (b"still here\n", 5)
    script_said = [
        line for line in watched.stderr.splitlines() if line and not line.startswith(b"quickfit: ")
    ]
    assert not [line for line in script_said if b"Traceback" in line]


def test_a_full_disk_is_said_once_and_changes_nothing(tmp_path):
    """`/dev/full` refuses every write; SQLite gets a limit on the size of files instead."""
    source = """
import os, resource, signal, sys, time
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
time.sleep(0.2)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
while not os.path.exists("go on"):
    sum(range(10_000))
print("trained")
sys.exit(6)
"""
    (tmp_path / "train.py").write_text(source)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = (*QUICKFIT, "run", "train.py")
    with subprocess.Popen(command, cwd=tmp_path, env=clean_env(), **pipes) as watched:
        said = b""
        while b"quickfit: recording stopped: " not in said:
            line = watched.stderr.readline()
            assert line, said
            said += line
        (tmp_path / "go on").touch()
        out, rest = watched.communicate()
    assert (out, watched.returncode) == (b"trained\n", 6)
    assert b"Traceback" not in said + rest
    assert (said + rest).count(b"quickfit: recording stopped: ") == 1


def test_starting_twice_starts_once(state, tmp_path):
    before = list(sys.meta_path)
    session.start(tmp_path, role="main")
    assert Current.state is state
    assert sys.meta_path == before


def test_finishing_without_having_started_does_nothing(monkeypatch):
    monkeypatch.setattr(Current, "state", None)
    session.finish()


def test_a_recording_that_cannot_be_finished_is_one_line(state, monkeypatch, capsys):
    def refuse():
        raise OSError(28, "No space left on device")

    state.writer.close = refuse
    session.finish()
    assert capsys.readouterr().err == (
        "quickfit: the recording could not be finished: [Errno 28] No space left on device\n"
    )


def test_watching_is_paused_and_goes_on(state):
    session.pause(paused=True)
    assert state.is_paused
    session.pause(paused=False)
    assert not state.is_paused


def test_an_error_while_a_library_is_imported_looks_as_ever(tmp_path):
    """Ctrl-C during the long import of TensorFlow is what many people see first."""
    folder = tmp_path / "tensorflow" / "python" / "framework"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent, folder.parent.parent):
        (package / "__init__.py").write_text("")
    (folder / "ops.py").write_text("from . import func_graph\n")
    (folder / "func_graph.py").write_text("def load():\n    raise KeyboardInterrupt\nload()\n")
    source = "def main():\n    import tensorflow.python.framework.ops\nmain()\n"
    (tmp_path / "train.py").write_text(source)
    plain = python(tmp_path, "train.py")
    watched = quickfit(tmp_path, "run", "train.py")
    assert of_the_script(watched.stderr) == plain.stderr
    assert watched.returncode == plain.returncode


def test_a_library_without_the_names_the_probes_need_works_and_the_probe_says_so(tmp_path):
    folder = tmp_path / "tensorflow" / "python" / "framework"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent, folder.parent.parent):
        (package / "__init__.py").write_text("")
    (folder / "ops.py").write_text("VALUE = 3\n")
    source = "from tensorflow.python.framework.ops import VALUE\nprint(VALUE)\n"
    watched, recording = run(tmp_path, source, wait="")
    assert watched.stdout == b"3\n"
    (probe,) = [row for row in recording.main.rows("probes") if row["name"] == "devices"]
    assert probe["state"] == "failed"
    assert "device_v2" in probe["detail"]
