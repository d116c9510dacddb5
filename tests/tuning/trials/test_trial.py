"""Real children: they train on command, fail in words, and leave nothing behind."""

import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from quickfit.tuning.trials.process import LOCK, hold_folder
from quickfit.tuning.trials.saving import recipe_by_function, recipe_by_name
from quickfit.tuning.trials.settings import Setting, TrialFailed, TrialFailure
from quickfit.tuning.trials.trial import Trial, end_after, scratch_folder, sweep_folders

from launch.sessions import PATIENCE_S

TRAINING = """
import keras, numpy as np, tensorflow as tf

print("a word of the user")

def build():
    x = np.random.default_rng(0).normal(size=(500, 8)).astype("float32")
    y = (x.sum(axis=1) > 0).astype("int32")
    model = keras.Sequential([keras.layers.Dense(16, "relu"), keras.layers.Dense(2, "softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    return model, tf.data.Dataset.from_tensor_slices((x, y)).shuffle(500).batch(16)

def large():
    x = np.zeros((64, 128, 128, 3), "float32")
    layers = [keras.Input((128, 128, 3)), keras.layers.Conv2D(64, 3), keras.layers.Conv2D(64, 3)]
    model = keras.Sequential([*layers, keras.layers.GlobalAveragePooling2D()])
    model.compile("sgd", "mse")
    return model, (x, np.zeros((64, 64), "float32"))

def broken():
    model, data = build()
    def mine(x, y):
        raise KeyError("colour")
    return model, data.map(mine)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a training, and let scratch folders be made beside it."""
    (tmp_path / "mytraining.py").write_text(TRAINING)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    return tmp_path


def test_one_that_was_never_started_can_be_closed(folder):
    with Trial(recipe_by_function(dict), Setting()) as trial:
        assert trial.pid is None
    trial.close()


@pytest.mark.tf
@pytest.mark.tf_any
def test_several_steps_per_call_learn_the_same_and_nothing_is_left(folder, capfd):
    recipe = recipe_by_name("mytraining:build", cwd=folder)
    plain = Trial(recipe, Setting())
    packed = Trial(recipe, Setting(steps_per_execution=8))
    with plain, packed:
        plain.start()
        packed.start()
        for trial in (plain, packed):
            ready = trial.ready()
            assert (ready.batch, ready.samples, ready.parameters) == (16, 500, 178)
            assert ready.peak_bytes > ready.base_bytes > 0
            block = trial.run(20)
            assert block.steps >= 20
            assert 0 < block.sample_s < 1
        one, other = plain.learn(400), packed.learn(400)
        assert one.samples == other.samples == 400
        assert one.before == pytest.approx(other.before, rel=1e-5)
        assert one.after == pytest.approx(other.after, rel=1e-5)
        assert one.after < one.before
        assert plain.run(4).steps >= 4
    assert capfd.readouterr() == ("", "")
    assert not list((folder / "scratch").iterdir())
    with pytest.raises(TrialFailed, match="the trial was closed"):
        plain.run(4)


@pytest.mark.tf
@pytest.mark.tf_any
def test_memory_that_is_not_there_is_told_and_the_parent_lives(folder):
    recipe = recipe_by_name("mytraining:large", cwd=folder)
    with Trial(recipe, Setting(), limit_bytes=150_000_000) as trial:
        with pytest.raises(TrialFailed) as caught:
            trial.ready()
        assert caught.value.failure is TrialFailure.OUT_OF_MEMORY


@pytest.mark.tf
@pytest.mark.tf_any
def test_an_error_of_the_user_is_told_with_their_line(folder):
    with Trial(recipe_by_name("mytraining:broken", cwd=folder), Setting()) as trial:
        with pytest.raises(TrialFailed) as caught:
            trial.ready()
        assert caught.value.failure is TrialFailure.ERROR
        assert "mytraining.py" in caught.value.text
        assert "KeyError: 'colour'" in caught.value.text
        assert "assembling.py" not in caught.value.text


INTERRUPTED = """
import sys
from pathlib import Path
from quickfit.tuning.trials.saving import recipe_by_name as by_name
from quickfit.tuning.trials.settings import Setting
from quickfit.tuning.trials.trial import Trial

with Trial(by_name("mytraining:build", cwd=Path(sys.argv[1])), Setting()) as trial:
    trial.start()
    print(trial.pid, flush=True)
    trial.ready()
    print("ready", flush=True)
    while True:
        trial.run(1000)
"""


@pytest.mark.tf
@pytest.mark.tf_any
def test_ctrl_c_leaves_no_child_and_no_folder(folder):
    ran = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder / "scratch")},
        # Where a shell started the tests in the background, Ctrl-C would be ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    child = os.pidfd_open(int(ran.stdout.readline()))
    assert ran.stdout.readline() == "ready\n"
    ran.send_signal(signal.SIGINT)
    _, errors = ran.communicate(timeout=PATIENCE_S)
    assert errors.strip().endswith("KeyboardInterrupt")
    assert select.select([child], [], [], PATIENCE_S)[0], "the child has ended"
    os.close(child)
    assert not list(Path(folder / "scratch").iterdir())


KILLED = """
import os, signal
from quickfit.tuning.trials.trial import scratch_folder
with scratch_folder() as folder:
    (folder / "data.npz").write_text("much")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def folder_of(place, name):
    folder = place / name
    folder.mkdir()
    return folder


def test_it_is_empty_and_is_gone_afterwards(place):
    with scratch_folder() as folder:
        assert not list(folder.iterdir())
        (folder / "model.keras").touch()
    assert not list(place.iterdir())


def test_what_a_killed_process_left_is_removed_at_the_next_start(place):
    env = {**os.environ, "TMPDIR": str(place)}
    code = subprocess.run([sys.executable, "-c", KILLED], env=env, check=False).returncode
    assert code == -signal.SIGKILL
    assert list(place.iterdir())
    with scratch_folder() as folder:
        assert list(place.iterdir()) == [folder.parent]


@pytest.mark.parametrize("prefix", ["quickfit-tune-", "quickfit-trial-", "quickfit-fix-"])
def test_what_is_in_use_stays_until_it_is_let_go(place, prefix):
    folder = folder_of(place, f"{prefix}abc")
    held = hold_folder(folder)
    sweep_folders(place)
    assert folder.exists()
    os.close(held)
    sweep_folders(place)
    assert not folder.exists()


def test_what_is_not_known_to_be_ours_stays(place):
    folder_of(place, "quickfit-tune-without-a-lock")
    (folder_of(place, "somebody-elses") / LOCK).touch()
    target = folder_of(place, "precious")
    (target / LOCK).touch()
    (place / "quickfit-tune-link").symlink_to(target)
    sweep_folders(place)
    assert len(list(place.iterdir())) == 4
    assert (target / LOCK).exists()


def test_folders_of_other_users_stay(place, monkeypatch):
    folder = folder_of(place, "quickfit-trial-theirs")
    os.close(hold_folder(folder))
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    sweep_folders(place)
    assert folder.exists()


class Process:
    """A process of its own group that never ends by itself."""

    def __init__(self):
        waits = "import sys; sys.stdin.read()"
        self.child = subprocess.Popen(
            [sys.executable, "-c", waits], stdin=subprocess.PIPE, start_new_session=True
        )
        self.pid = self.child.pid


def test_a_trial_that_goes_on_is_ended():
    process = Process()
    with end_after(process, 0.0) as is_over:
        assert process.child.wait(PATIENCE_S) == -9
    assert is_over.is_set()
    process.child.stdin.close()


def test_a_trial_that_answers_in_time_is_left_alone():
    process = Process()
    with end_after(process, 1000.0) as is_over:
        pass
    assert not is_over.is_set()
    process.child.stdin.close()
    assert process.child.wait(PATIENCE_S) == 0


def test_a_trial_that_has_ended_already_is_nothing_to_end():
    process = Process()
    process.child.stdin.close()
    process.child.wait(PATIENCE_S)
    with end_after(process, 0.0) as is_over:
        assert is_over.wait(PATIENCE_S)


def test_a_trial_without_a_process_is_nothing_to_end():
    class Nothing:
        pid = None

    with end_after(Nothing(), 0.0) as is_over:
        assert is_over.wait(PATIENCE_S)
