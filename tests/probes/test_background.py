"""While a script is silent, the background thread records what tells why, through forks too."""

import textwrap
import threading

from quickfit.probes.background import Background
from quickfit.recording import reader

from launch.sessions import PATIENCE_S, newest_run, python, quickfit

SCRIPT = """
import os, sqlite3, sys, threading, time

file = os.path.join(os.environ.get("QUICKFIT_RUN", ""), f"{os.getpid()}.sqlite")

def is_recorded():
    db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    rows = db.execute("SELECT count(*) FROM raises").fetchone()[0]
    db.close()
    return rows

def swallow(times):
    for _ in range(times):
        try:
            open("/no such folder/a.png")
        except OSError:
            continue
        yield "never"

def fork():
    child = os.fork()
    if child == 0:
        # A child that is still watched would be slow, or die.
        os._exit(len(list(swallow(1000))) + (sys.gettrace() is not None))
    assert os.waitpid(child, 0)[1] == 0

def batches():
    fork()
    while "QUICKFIT_RUN" in os.environ and not is_recorded():
        yield from swallow(2000)
    fork()
    yield 1

idle = threading.Event()
thread = threading.Thread(target=idle.wait, name="idle")
thread.start()
print(list(batches()))
idle.set()
"""


def test_a_silent_script_has_its_threads_and_what_it_swallows_recorded(tmp_path):
    (tmp_path / "train.py").write_text(textwrap.dedent(SCRIPT))
    plain = python(tmp_path, "train.py")
    watched = quickfit(tmp_path, "run", "train.py")
    assert watched.returncode == plain.returncode == 0, watched.stderr.decode()
    assert watched.stdout == plain.stdout == b"[1]\n"
    recording = reader.read(newest_run(tmp_path))
    main = recording.main
    roles = {row["name"]: row["role"] for row in main.rows("threads")}
    assert roles == {"MainThread": "main", "idle": "other"}
    assert {row["native_id"] for row in main.rows("threads") if row["role"] == "main"} == {
        main.facts["pid"]
    }
    row = main.rows("raises")[0]
    lines = SCRIPT.splitlines()
    assert lines[row["line"] - 1].strip() == 'open("/no such folder/a.png")'
    assert lines[row["caught_line"] - 1].strip() == "except OSError:"
    assert (row["role"], row["name"]) == ("main", "FileNotFoundError")
    assert row["count"] > 0
    probes = {probe["name"]: probe["state"] for probe in main.rows("probes")}
    assert (probes["silence"], probes["raising"]) == ("active", "active")
    assert not any(child.rows("raises") for child in recording.others)


def test_a_thread_that_is_asked_to_end_before_it_began_to_sample_ends(state, monkeypatch):
    made, asked, ended = Background(state), threading.Event(), []
    start_sampling = made.stacks.start

    def start_late():
        asked.wait(PATIENCE_S)
        start_sampling()

    monkeypatch.setattr(made.stacks, "start", start_late)
    monkeypatch.setattr(made, "_read_counters", lambda: ended.append(True))
    made.start()
    threading.Timer(0.2, asked.set).start()
    made.stop()
    assert ended, "stopping gave up on it"
