"""`quickfit shrink`: its command line, what it answers, and a real run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from compression.shrinking.rows_builder import a_result
from quickfit.cli.shrink import Format, Purpose, shrink
from quickfit.compression.shrinking import session as requests
from quickfit.errors import UsageError

PROGRAM = """
import keras
import numpy as np

keras.utils.set_random_seed(0)
draw = np.random.default_rng(0)
y = draw.integers(0, 3, 240)
x = draw.normal(0, 0.2, (240, 6)).astype("float32")
x[np.arange(240), y] += 1
model = keras.Sequential(
    [keras.Input((6,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(3)]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(0.02), loss)
model.fit(x, y, epochs=5, verbose=0)
model.save("model.keras")
np.savez("data.npz", x=x, y=y)
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Return a folder with something that could be a model and data."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.keras").touch()
    (tmp_path / "data.npz").touch()
    return tmp_path


@pytest.fixture
def asked(files, monkeypatch):
    """Let a fixed result be the answer; returns what was asked for."""
    found = []

    def answered(request, tell):
        found.append(request)
        tell("making something")
        print("from user code")
        return a_result(**found_options)

    found_options = {"chosen": "pruned-50-int8"}
    found.append(found_options)
    monkeypatch.setattr(requests, "answer_request", answered)
    return found


def test_the_table_goes_to_stdout_and_everything_else_to_stderr(asked, capfd):
    shrink("model.keras", "data.npz")
    out, err = capfd.readouterr()
    assert out.startswith("target: at most 1 point lost\n")
    assert "Chosen: pruned-50-int8" in out
    assert "quickfit: making something" in err
    assert "from user code" in err
    assert "from user code" not in out


def test_the_options_arrive(asked, files):
    shrink(
        "model.keras",
        "data.npz",
        files / "here",
        "half the size",
        Purpose.TRAINING,
        "2m",
        distill=True,
        samples=7,
        modules=["layers.py"],
        allow_code=True,
        force=True,
        seed=5,
        separable=True,
        evaluate="train.py:score",
    )
    request = asked[-1]
    assert (request.separable, request.evaluate) == (True, "train.py:score")
    assert (request.out, request.target, request.for_training) == (
        files / "here",
        "half the size",
        True,
    )
    assert (request.budget_s, request.distill, request.most_samples) == (120, True, 7)
    assert (request.modules, request.allows_code, request.replaces, request.seed) == (
        ("layers.py",),
        True,
        True,
        5,
    )


def test_the_result_goes_beside_the_model(asked):
    shrink("model.keras", "data.npz")
    assert str(asked[-1].out) == "model-shrunk"


def test_json_is_for_programs(asked, capsys):
    shrink("model.keras", "data.npz", shape=Format.JSON)
    assert json.loads(capsys.readouterr().out)["chosen"] == "pruned-50-int8"


def test_nothing_chosen_ends_with_1(asked, capsys):
    asked[0]["chosen"] = None
    with pytest.raises(typer.Exit) as ended:
        shrink("model.keras", "data.npz")
    assert ended.value.exit_code == 1
    assert "candidate" in capsys.readouterr().out


def test_ctrl_c_shows_what_there_is(asked, capsys):
    asked[0]["is_interrupted"] = True
    with pytest.raises(KeyboardInterrupt):
        shrink("model.keras", "data.npz")
    assert "candidate" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (("none.keras", "data.npz"), {}, r"none\.keras: there is no such file"),
        (("model.keras", "nowhere"), {}, r"--data nowhere: there is no such file or folder"),
        (("model.keras", "data.npz"), {"target": "small"}, r"'small' is not understood"),
        (("model.keras", "data.npz"), {"budget": "soon"}, r"--budget soon"),
        (("model.keras", "data.npz"), {"out": Path("data.npz")}, r"this is a file"),
    ],
)
def test_mistakes_are_said_before_tensorflow_is_loaded(files, arguments, options, said):
    with pytest.raises(UsageError, match=said):
        shrink(*arguments, **options)


def test_an_earlier_result_is_not_replaced(files):
    (files / "model-shrunk").mkdir()
    (files / "model-shrunk" / "model.keras").write_text("precious")
    with pytest.raises(UsageError, match="an earlier result in it"):
        shrink("model.keras", "data.npz")
    assert (files / "model-shrunk" / "model.keras").read_text() == "precious"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a folder with a trained model and its data."""
    folder = tmp_path_factory.mktemp("project")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        check=True,
        env=environment,
        capture_output=True,
    )
    return folder


def run(folder, *words):
    return subprocess.run(
        [sys.executable, "-m", "quickfit", "shrink", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.tf
@pytest.mark.tf_any
def test_a_model_becomes_a_smaller_one(project):
    done = run(
        project,
        *("model.keras", "--data", "data.npz", "--for", "training", "--format", "json"),
    )
    found = json.loads(done.stdout)
    names = {one["name"]: one["verdict"] for one in found["candidates"]}
    assert names["separable-1"] == "not made"
    assert names["pruned-50"] in ("chosen", "accepted", "rejected")
    assert done.returncode == (0 if found["chosen"] else 1), done.stderr
    assert "WARNING" not in done.stderr
    out = project / "model-shrunk"
    assert (out / "report.md").exists()
    assert (out / "candidates" / "pruned-50.keras").exists()
    assert (out / "model.keras").exists() is bool(found["chosen"])
