"""`quickfit tune`: its command line, what it answers, and real trainings through it."""

import io
import json
import os
import signal
import subprocess
import sys

import psutil
import pytest
import typer

from quickfit.cli import main
from quickfit.cli.fix import Accept
from quickfit.cli.tune import Change, Format, in_stages, script_of, tune
from quickfit.errors import ModelError, UsageError
from quickfit.fixing import tune as script_tuning
from quickfit.fixing.progress import Ticker
from quickfit.tuning.advice import session
from quickfit.tuning.advice.candidates import CHANGE_KINDS
from quickfit.tuning.advice.change_table import ChangeKind

from launch.sessions import PATIENCE_S
from tuning.advice.advice_builder import SLOWER, XLA, advice

TRAINING = """
import keras
import numpy as np

print("from the top level")


def build():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.random.default_rng(0).normal(size=(512, 4)).astype("float32")
    return model, (x, x[:, :1])


def not_compiled():
    model, data = build()
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)]), data
"""


@pytest.fixture
def asked(monkeypatch):
    """Let a fixed advice be the answer; returns what was asked for."""
    calls = []

    def advised(target, data, wishes, **options):
        calls.append((target, wishes, options))
        options["tell"]("round 1 of 3")
        return advice(XLA, SLOWER)

    monkeypatch.setattr(session, "run_advice", advised)
    return calls


def test_the_table_goes_to_stdout_and_progress_to_stderr(asked, capsys):
    tune(["train:build"])
    out, err = capsys.readouterr()
    assert out.startswith("quickfit tune: train:build\nA CPU, 2 cores, no GPU\n")
    assert "model.compile(..., jit_compile=True)" in out
    assert "round 1 of 3" in err
    assert "round" not in out


def test_as_json_it_is_nothing_but_json(asked, capsys):
    tune(["train:build"], shape=Format.JSON)
    found = json.loads(capsys.readouterr().out)
    assert found["lines"] == ["model.compile(..., jit_compile=True)"]


def test_by_default_everything_is_tried_within_three_minutes(asked):
    tune(["train:build"])
    ((target, wishes, options),) = asked
    assert target == "train:build"
    assert wishes.kinds == set(CHANGE_KINDS)
    assert not wishes.forced
    assert options["budget_s"] == 180.0
    assert options["steps_left"] is None


def test_options_say_what_is_tried_and_how_long(asked):
    tune(["train:build"], budget="90s", only=[Change.XLA], also=[Change.PRECISION], steps_left=1200)
    ((_, wishes, options),) = asked
    assert wishes.kinds == {ChangeKind.XLA, ChangeKind.PRECISION}
    assert ChangeKind.PRECISION in wishes.forced
    assert options["budget_s"] == 90.0
    assert options["steps_left"] == 1200


def test_try_adds_to_what_is_tried_anyway(asked):
    tune(["train:build"], also=[Change.PRECISION])
    ((_, wishes, _),) = asked
    assert wishes.kinds == set(CHANGE_KINDS)
    assert wishes.forced == {ChangeKind.PRECISION}


def test_the_kinds_of_the_command_line_are_those_that_are_tried():
    assert {change.value for change in Change} == {kind.value for kind in CHANGE_KINDS}


def test_an_interrupted_one_shows_its_table_and_ends_as_interrupted(monkeypatch, capsys):
    monkeypatch.setattr(session, "run_advice", lambda *a, **k: advice(XLA, is_interrupted=True))
    with pytest.raises(KeyboardInterrupt):
        tune(["train:build"])
    assert "Interrupted: this is what was known by then." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "more", "message"),
    [
        ([], {}, "no function and no script was given.\nName one:\n    quickfit tune train:build"),
        (["trian"], {}, "trian is no file, and a function is named with a colon"),
        (["train:build", "--budget", "1m"], {}, "quickfit tune --budget 1m train:build"),
        (["pkg.train:build"], {"apply": True}, "quickfit tune --apply pkg/train.py"),
        (["train.py:build"], {"diff": True}, "quickfit tune --apply train.py"),
        (["train:build"], {"accept": [Accept.EQUIVALENT]}, "a function is only measured"),
        (["train:build"], {"budget": "soon"}, "--budget"),
        (["train:build"], {"budget": "2s"}, "A budget of 2 s is too small"),
        (["train:build"], {"steps_left": 0}, "nothing is left to train"),
        (["train.py"], {"budget": "2s"}, "A budget of 2 s is too small"),
        (["train.py"], {"steps_left": -1}, "nothing is left to train"),
        (["no/such.py:build"], {}, "there is no file no/such.py"),
        (["a b:build"], {}, "does not name a function"),
        (["train:build", "extra", "4"], {}, "    quickfit tune train.py extra 4"),
        (["."], {}, "tune: . is a folder. Name a script in it, or a function:"),
        (["../a/train:tiny"], {}, "There is no file ../a/train.py in "),
        (["train.py"], {"undo": True}, "    quickfit fix --undo"),
        ([], {"undo": True}, "    quickfit fix --undo"),
    ],
)
def test_a_wrong_command_line_is_told(words, more, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        tune(words, **more)
    assert message in str(caught.value)


def test_a_path_without_its_ending_is_told_with_the_file(monkeypatch, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "train.py").touch()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "b")
    with pytest.raises(UsageError, match=r"Name the file:\n    ../a/train.py:tiny$"):
        tune(["../a/train:tiny"])


def test_ctrl_c_before_anything_was_measured_is_one_line(monkeypatch, capsys):
    def advised(*words, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "run_advice", advised)
    with pytest.raises(KeyboardInterrupt):
        tune(["train:build"])
    assert capsys.readouterr().err == "quickfit: interrupted before anything was measured\n"


def test_a_missing_tensorflow_is_told(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    with pytest.raises(ModelError, match="tensorflow is not installed"):
        tune(["train:build"])


def test_a_script_with_its_arguments_goes_to_the_proof_of_fixes(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    calls = []
    monkeypatch.setattr(script_tuning, "tune", lambda *a, **k: calls.append(a) or 0)
    options = {"budget": "4m", "only": [Change.XLA], "also": [Change.PRECISION], "steps_left": 9}
    tune(["train.py", "--epochs", "3"], **options, apply=True)
    ((request, asked_for),) = calls
    assert request.target.script == "train.py"
    assert request.target.args == ("--epochs", "3")
    assert request.budget_s == 240.0
    assert request.tries == {"precision"}
    assert request.only == {"xla"}
    assert request.steps_left == 9
    assert asked_for.applies


def test_a_module_is_a_script_too(monkeypatch):
    calls = []
    monkeypatch.setattr(script_tuning, "tune", lambda *a, **k: calls.append(a) or 3)
    with pytest.raises(typer.Exit) as caught:
        tune(["--epochs", "3"], module="pkg.train", shape=Format.JSON)
    assert caught.value.exit_code == 3
    request, _ = calls[0]
    assert request.target.module == "pkg.train"
    assert request.format == "json"
    assert request.budget_s == script_tuning.BUDGET_S


def test_a_file_whose_name_has_a_colon_is_a_script(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a:b.py").touch()
    assert script_of(["a:b.py"], None).script == "a:b.py"
    assert script_of(["a:b"], None) is None


def test_everything_behind_a_script_belongs_to_it():
    words = main.arranged(["tune", "--budget", "4m", "train.py", "--budget", "2"])
    assert words == ["tune", "--budget", "4m", "--", "train.py", "--budget", "2"]


def test_every_round_shows_in_a_log_however_short_it_is():
    log = io.StringIO()
    tell = in_stages(Ticker(log, clock=lambda: 0.0))
    tell("starting your training as it is · 90 s left")
    tell("round 1 of 3: starting XLA, 1 of 2 · 85 s left")
    tell("round 1 of 3: measuring in turns, 1 of 3 · 80 s left")
    tell("round 2 of 3: starting XLA, 1 of 2 · 75 s left")
    lines = log.getvalue().splitlines()
    assert lines == [
        "quickfit: starting your training as it is · 90 s left",
        "quickfit: round 1 of 3",
        "quickfit: round 2 of 3",
    ]


# Ctrl-C is ignored by what a shell has started in the background.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from quickfit.cli.main import main
main()
"""


def started(folder, *words):
    """Start the command in a folder with a training in it."""
    (folder / "small.py").write_text(TRAINING)
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "tune", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        # Where a shell started the tests in the background, Ctrl-C would be ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.mark.tf
@pytest.mark.tf_any
def test_a_real_training_is_measured_and_everything_is_told(tmp_path):
    words = ("--only", "xla", "--budget", "8m", "--format", "json", "small:build")
    with started(tmp_path, *words) as process:
        out, err = process.communicate(timeout=560)
    assert process.returncode == 0, err
    found = json.loads(out)
    assert found["baseline"]["batch"] == 32
    assert found["baseline"]["samples"] == 512
    assert found["baseline"]["samples_per_s"] > 0
    (row,) = found["rows"]
    assert row["kind"] == "xla"
    assert row["gain"]["pairs"] >= 1
    assert row["verdict"] != "failed"
    assert "from the top level" not in out
    assert "round 1 of 3" in err


@pytest.mark.tf
@pytest.mark.tf_any
def test_a_model_that_is_not_compiled_is_told_with_the_line_to_add(tmp_path):
    with started(tmp_path, "small:not_compiled") as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == ModelError.exit_code
    assert "is not compiled" in err
    assert "model.compile(" in err
    assert not out


@pytest.mark.tf
@pytest.mark.tf_any
def test_ctrl_c_leaves_a_partial_table_and_no_process(tmp_path):
    with started(tmp_path, "--only", "steps", "small:build") as process:
        for line in process.stderr:
            if "round 1 of 3" in line:
                break
        children = psutil.Process(process.pid).children()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + signal.SIGINT
    assert "Interrupted: this is what was known by then." in out
    assert "steps per call" in out
    assert children
    assert not any(child.is_running() for child in children)


@pytest.mark.tf
@pytest.mark.tf_any
def test_a_signal_to_end_leaves_no_process_and_no_folder(tmp_path, monkeypatch):
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    with started(tmp_path, "--only", "steps", "small:build") as process:
        for line in process.stderr:
            if "round 1 of 3" in line:
                break
        children = psutil.Process(process.pid).children()
        assert list((tmp_path / "scratch").iterdir())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGTERM
    assert children
    assert not any(child.is_running() for child in children)
    assert not list((tmp_path / "scratch").iterdir())
