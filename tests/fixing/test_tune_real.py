"""`quickfit tune train.py` on real TensorFlow: what is offered, and what trials say of it."""

import contextlib
import subprocess
import sys

import pytest

from quickfit.code import Program
from quickfit.code.edits import apply_edits
from quickfit.fixing.script_bench import TrialFolders
from quickfit.fixing.setting_edits import with_steps
from quickfit.lab.script_trial import started
from quickfit.launch.target import Target

from launch.sessions import PATIENCE_S

pytestmark = [pytest.mark.tf, pytest.mark.tf_any]

TEXT = """\
import sys

import keras
import numpy as np

x = np.random.rand(2048, 8).astype("float32")
y = x.sum(axis=1)
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("sgd", loss="mse")
model.fit(x, y, epochs=int(sys.argv[2]), verbose=0)
"""
# Time to watch it on any machine, and too little for a thousand pairs.
NO_TIME = """
import sys
from quickfit.fixing import tune as story
from quickfit.fixing.tune import TuneRequest, tune
from quickfit.fixing.write import Asked
from quickfit.launch.target import Target

request = TuneRequest(Target(script="train.py", args=("--epochs", "2")), budget_s=3000.0)
story.USUAL_PAIRS = 3000
sys.exit(tune(request, Asked(), out=sys.stdout, err=sys.stderr))
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name, value in (("TF_CPP_MIN_LOG_LEVEL", "3"), ("CUDA_VISIBLE_DEVICES", "")):
        monkeypatch.setenv(name, value)
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "train.py").write_text(TEXT)
    return folder


def test_a_budget_without_time_for_a_proof_is_refused_when_the_script_was_watched(home):
    done = subprocess.run(
        [sys.executable, "-c", NO_TIME],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    said = " ".join(done.stderr.split())
    assert "UsageError: train.py: a budget of 50 min 0 s is too small for it. It takes" in said
    assert "to decide one change takes about" in said
    assert "train.py --epochs 2" in said
    assert (home / "train.py").read_text() == TEXT


def test_several_steps_in_one_call_have_the_same_loss_after_the_same_samples(home):
    path = str(home / "train.py")
    project = Program(texts={path: TEXT})
    change = with_steps(project.find_module(path), 9, 32, project, works_on_batches=False)
    edited = {path: apply_edits(TEXT, change.edits).encode()}
    scratch = home.parent / "scratch"
    scratch.mkdir()
    folders = TrialFolders(scratch)
    target = Target(script="train.py", args=("--epochs", "2"))
    with contextlib.ExitStack() as stack:
        for number, texts in enumerate(({}, edited), start=1):
            trial = stack.enter_context(
                started(
                    target, scratch / f"results{number}", cwd=home, texts=texts, results_steps=32
                )
            )
            trial.keeper.wait(PATIENCE_S)
            assert trial.failure() == ""
    loss = folders.seen(1, 32).loss
    assert loss.samples in (1024, 2048)
    assert loss.after == loss.unchanged < loss.before
