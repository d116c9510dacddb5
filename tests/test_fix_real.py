"""`quickfit fix` on real TensorFlow: trials harm nothing, and say what is true of an edit."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from quickfit.findings import FixClass
from quickfit.lab import script_pair
from quickfit.lab.budget import Budget
from quickfit.lab.proof import Prover
from quickfit.lab.results import judge
from quickfit.lab.script_pair import Setting, Version, measure_pair
from quickfit.launch.target import Target
from trials import state_of, tried

from launch.sessions import PATIENCE_S, QUICKFIT, clean_env, newest_run

pytestmark = pytest.mark.tf

SCRIPTS = Path(__file__).parent / "scripts" / "fix"
EAGER = Path(__file__).parents[1] / "corpus" / "pairs" / "run-eagerly-on" / "slow.py"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of a user who has trained before."""
    for name, value in (("TF_CPP_MIN_LOG_LEVEL", "3"), ("CUDA_VISIBLE_DEVICES", "")):
        monkeypatch.setenv(name, value)
    folder = tmp_path / "home"
    (folder / "out").mkdir(parents=True)
    for name in ("model.keras", "log.csv", "out/old.txt"):
        (folder / name).write_text(f"precious {name}\n")
    return folder


def script(home, name):
    """Put a script into the user's folder as `train.py`; return its text."""
    shutil.copy(SCRIPTS / f"{name}.py", home / "train.py")
    return (home / "train.py").read_text()


@pytest.mark.tf_any
@pytest.mark.parametrize("name", ["savers", "trackers"])
def test_a_script_that_saves_everywhere_ends_well_and_nothing_is_changed(home, name):
    script(home, name)
    before = state_of(home)
    ended = tried(home)
    assert state_of(home) == before
    assert (ended.code, ended.failure) == (0, ""), ended.err[-3000:]
    assert ended.out.endswith("all fine\n")


@pytest.mark.tf_any
def test_a_script_that_would_take_something_away_is_refused_at_its_line(home):
    harms = {
        "shutil.rmtree('out')": "deletes out",
        "csv.writer(open('log.csv', 'w')).writerow([1])": "writes log.csv",
        "tf.io.gfile.rmtree('out')": "",
    }
    for code, what in harms.items():
        (home / "train.py").write_text(
            f"import csv, shutil\nimport tensorflow as tf\n\n{code}\nprint('went on')\n"
        )
        before = state_of(home)
        ended = tried(home)
        assert state_of(home) == before
        if what:
            assert ended.failure == f"cannot be tried safely: train.py:4 {what}"
            assert ended.out == ""


def measured(home, text, **edit):
    """Measure one pair: the script against an edit of it, which replaces some text."""
    ((old, new),) = edit["edit"].items()
    assert old in text
    edited = Version("the edited script", {str(home / "train.py"): text.replace(old, new).encode()})
    setting = Setting(
        Target(script="train.py"),
        home,
        home.with_name(f"pair{len(list(home.parent.iterdir()))}"),
        patience_s=edit.get("patience_s", PATIENCE_S),
    )
    versions = (Version("the original", {}), edited)
    return measure_pair(versions, setting, number=0, deadline_s=time.monotonic() + PATIENCE_S)


AFTER_STEPS = """
class Ends(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 20:
            {code}
callbacks = [Ends()]
"""


@pytest.mark.parametrize(
    ("code", "why"),
    [
        pytest.param(
            "raise ValueError('no more data')",
            "the edited script ended with exit code 1: ValueError: no more data",
            id="crashes",
        ),
        pytest.param(
            "import os; os.kill(os.getpid(), 9)", "the edited script ended by SIGKILL", id="killed"
        ),
    ],
)
def test_an_edit_that_does_not_survive_is_rejected_with_its_reason(home, code, why):
    text = script(home, "trains")
    before = state_of(home)
    found = measured(home, text, edit={"callbacks = []": AFTER_STEPS.format(code=code)})
    assert (found.ratio, found.why, found.is_fault_of_second) == (None, why, True)
    assert state_of(home) == before


def test_an_edit_that_hangs_or_takes_all_memory_is_rejected_with_its_reason(home, monkeypatch):
    text = script(home, "trains")
    before = state_of(home)
    hangs = "import signal; signal.pause()\nimport keras"
    found = measured(home, text, edit={"import keras": hangs}, patience_s=15.0)
    assert found.why == "the edited script made no step of training within 15 s"
    monkeypatch.setattr(script_pair, "free_memory_bytes", lambda: 1.6e9)
    hoards = "data = bytearray(1_500_000_000)\nimport keras"
    found = measured(home, text, edit={"import keras": hoards})
    assert found.why.startswith("the edited script took 1.")
    assert found.why.endswith(" GB of memory, more than is free")
    assert state_of(home) == before


@pytest.mark.tf_any
def test_results_are_bit_equal_after_a_comment_and_others_after_another_label(home):
    text = script(home, "trains")
    path = str(home / "train.py")
    scratch = home.with_name("scratch")
    setting = Setting(Target(script="train.py"), home, scratch, patience_s=PATIENCE_S)
    edits = [text + "# a comment\n", text.replace("> 4)", "> 3)")]
    texts = [{}, {}, *({path: edit.encode()} for edit in edits)]
    before = state_of(home)
    prover = Prover(setting, Budget(2000.0))
    kept = [*prover._keep(texts[:2], cuts=False), *prover._keep(texts[2:], cuts=False)]
    assert [one.failure for one in kept] == [""] * 4
    assert state_of(home) == before
    first, again, comment, label = kept
    assert first.results.losses == again.results.losses
    assert first.results.weights == again.results.weights
    assert len(first.results.weights) >= 30
    same, other = (
        judge(
            first.results,
            again.results,
            edited.results,
            claimed=FixClass.SAME_RESULTS,
            epoch_steps=(first.epoch_steps, edited.epoch_steps),
        )
        for edited in (comment, label)
    )
    assert same.kind == FixClass.SAME_RESULTS
    assert same.text.startswith("bit-equal, 3")
    assert other.kind is None
    assert "other batches" in other.text


def quickfit_fix(home, *words):
    done = subprocess.run(
        [*QUICKFIT, "fix", *words],
        cwd=home,
        env=clean_env(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES=""),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_whole_command_ends_in_a_table_and_changes_no_file(home):
    # A cause that a busy machine does not hide; whether it is proven in time is not judged here.
    (home / "train.py").write_text(EAGER.read_text())
    before = state_of(home)
    done = quickfit_fix(home, "--budget", "60s", "--only", "run-eagerly-on", "train.py")
    assert "predicted" in done.stdout
    assert "run-eagerly-on" in done.stdout
    assert '+model.compile(optimizer="adam", loss="mse")' in done.stdout
    assert "watching train.py" in done.stderr
    assert "of the budget left" in done.stderr
    unproven = quickfit_fix(home, "--no-proof", str(newest_run(home)), "run-eagerly-on")
    assert "not tried" in unproven.stdout
    assert '+model.compile(optimizer="adam", loss="mse")' in unproven.stdout
    shutil.rmtree(home / ".quickfit")
    os.utime(home, ns=(before["."][1],) * 2)
    assert state_of(home) == before
