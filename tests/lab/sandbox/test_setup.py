"""A trial begins before the script, and holds itself after its first step."""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from quickfit.lab.sandbox import setup
from quickfit.lab.sandbox.spec import EXIT_NOT_BEGUN, HELD_FILE, SPEC_FILE, VARIABLE, Spec, read
from quickfit.lab.script_trial import started
from quickfit.launch.target import Target
from quickfit.probes._state import Current
from trials import tried

from launch.sessions import clean_env, eventually, is_alive


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_the_environment_keeps_trackers_offline_and_files_in_scratch(tmp_path):
    env = setup.environment(str(tmp_path))
    assert env["WANDB_MODE"] == "offline"
    assert env["MLFLOW_TRACKING_URI"] == f"file://{tmp_path}/mlruns"
    assert env["TMPDIR"] == str(tmp_path / "tmp")
    assert env["PYTHONDONTWRITEBYTECODE"] == "1"
    assert not any("{" in value for value in env.values())


def test_the_script_has_that_environment(home):
    ended = tried(
        home, "import os, tempfile\nprint(tempfile.gettempdir(), os.environ['WANDB_MODE'])"
    )
    assert ended.out.split() == [str(ended.scratch / "tmp"), "offline"]


def test_what_it_wrote_is_removed_but_its_recording_stays(home):
    ended = tried(home, "open('new.txt', 'w').close()")
    left = {path.name for path in ended.scratch.iterdir()}
    assert "run.qfrun" in left
    assert not left & {"tmp", "shadow", "cuda"}


def test_where_memory_runs_out_it_is_the_trial_that_is_ended(home):
    ended = tried(home, "print(open('/proc/self/oom_score_adj').read())")
    assert ended.out.strip() == "1000"


def test_a_trial_that_cannot_be_guarded_is_not_begun(home, monkeypatch):
    monkeypatch.setattr(Spec, "write", lambda self: self.scratch + "/no-such.json")
    ended = tried(home, "open('harm.txt', 'w').close()")
    assert ended.code == EXIT_NOT_BEGUN
    assert ended.failure.startswith("could not be begun: ")
    assert not (home / "harm.txt").exists()


ORPHAN = """
import os, sys, time
from pathlib import Path
from quickfit.launch.target import Target
from quickfit.lab.script_trial import started
home = Path(sys.argv[1])
with started(Target(script="train.py"), home.with_name("scratch"), cwd=home) as trial:
    while not (trial.scratch / "stdout.log").read_text():
        time.sleep(0.01)
    print(trial.keeper.pid, flush=True)
    os._exit(0)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux ends it")
def test_a_trial_does_not_outlive_its_parent_even_when_it_is_stopped(home):
    stops = "import os, signal\nprint('here', flush=True)\nos.kill(os.getpid(), signal.SIGSTOP)\n"
    (home / "train.py").write_text(stops)
    done = subprocess.run(
        [sys.executable, "-c", ORPHAN, str(home)], capture_output=True, env=clean_env()
    )
    pid = int(done.stdout)
    eventually(lambda: not is_alive(pid), "the trial ends with its parent")


def test_a_trial_of_a_parent_that_is_gone_does_not_begin(tmp_path, home):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    path = Spec(str(scratch), parent=1, script=str(home / "train.py")).write()
    code = (
        f"from quickfit.lab.sandbox import setup; setup.prepare({str(path)!r}, 'main'); print('on')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=clean_env())
    assert (done.returncode, done.stdout) == (1, b"")


def test_a_user_variable_that_looks_like_ours_does_not_begin_a_trial(home, monkeypatch):
    monkeypatch.setenv(VARIABLE, "/no/such/trial.json")
    assert tried(home, "print('fine')").out == "fine\n"


def test_all_that_a_trial_started_is_ended_with_it(home):
    text = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
print(child.pid, flush=True)
child.wait()
"""
    (home / "train.py").write_text(text)
    with started(Target(script="train.py"), home.with_name("scratch"), cwd=home) as trial:
        log = trial.scratch / "stdout.log"
        eventually(lambda: log.read_text().endswith("\n"), "the child is started")
        (child,) = psutil.Process(trial.group).children()
        assert child.is_running()
    assert not child.is_running()


def test_only_the_script_itself_keeps_results_or_holds(tmp_path):
    spec = SimpleNamespace(holds=True, results_steps=0, scratch=str(tmp_path))
    assert setup._kept(spec, "descendant") == {}
    assert setup._kept(spec, "main")
    assert setup._kept(SimpleNamespace(holds=False, results_steps=0), "main") == {}
    assert os.environ.get(VARIABLE) is None


@pytest.fixture
def stopped(monkeypatch):
    signals = []
    monkeypatch.setattr(os, "killpg", lambda group, number: signals.append(number))
    return signals


@pytest.fixture
def state(monkeypatch):
    flushed = []
    writer = SimpleNamespace(flush=lambda: flushed.append(True))
    found = SimpleNamespace(loops=[], at_step=None, writer=writer, flushed=flushed)
    monkeypatch.setattr(Current, "state", found)
    return found


def begun(tmp_path):
    patches = setup.hold_patches(Spec(str(tmp_path), os.getpid()))
    for patch in patches.values():
        patch(SimpleNamespace())


def loop(*, trains=True, steps=1):
    return SimpleNamespace(trains=trains, steps=steps)


def test_it_stops_after_the_first_step_of_training(tmp_path, state, stopped):
    begun(tmp_path)
    state.loops.append(loop())
    assert state.at_step() is False
    assert stopped == [signal.SIGSTOP]
    assert state.flushed == [True]
    assert float((tmp_path / HELD_FILE).read_text()) > 0


def test_it_stops_once(tmp_path, state, stopped):
    begun(tmp_path)
    state.loops.append(loop())
    state.at_step()
    assert state.at_step is None


@pytest.mark.parametrize(
    "loops",
    [
        pytest.param([], id="no loop"),
        pytest.param([loop(steps=0)], id="no step yet"),
        pytest.param([loop(trains=False)], id="a loop that predicts"),
    ],
)
def test_it_goes_on_before_the_first_step_of_training(tmp_path, state, stopped, loops):
    begun(tmp_path)
    state.loops += loops
    assert state.at_step() is False
    assert state.at_step is not None
    assert stopped == []
    assert not (tmp_path / HELD_FILE).exists()


def test_without_a_recording_there_is_nothing_to_stop(tmp_path, monkeypatch):
    monkeypatch.setattr(Current, "state", None)
    begun(tmp_path)


def test_a_spec_comes_back_as_it_was_written(tmp_path):
    spec = Spec(
        scratch=str(tmp_path),
        parent=12,
        files={"/home/ü x/train.py": "/scratch/0.py"},
        seed=3,
        results_steps=32,
        holds=True,
        script="/home/train.py",
        args=("--lr", "0.1", "", "ü"),
    )
    path = spec.write()
    assert path == tmp_path / SPEC_FILE
    assert read(str(path)) == spec


def test_a_file_that_is_no_spec_is_an_error(tmp_path):
    (tmp_path / "x").write_text("{")
    with pytest.raises(ValueError, match="property name"):
        read(str(tmp_path / "x"))
