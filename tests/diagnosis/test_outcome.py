"""How a script ended, and what to install when it ended for want of TensorFlow."""

import os
from pathlib import Path

import pytest

from quickfit.diagnosis.outcome import missing_framework, run_outcome
from quickfit.recording import reader
from quickfit.report import _sentences as sentences

from builders import recording
from launch.sessions import newest_run, quickfit

COMMAND = ["/envs/my env/bin/python", "-X", "dev", "train.py", "--epochs", "3"]


def ended_by(kind, message, command=COMMAND):
    run = recording(facts={"ended_by": {"type": kind, "message": message}})
    run.run = {"command": command, "script": "/project/train.py"} if command is not None else {}
    return missing_framework(run)


@pytest.mark.parametrize(
    ("facts", "run", "text", "sentence"),
    [
        ({"ended_s": 9.0}, {}, "finished", ""),
        ({"pid": os.getpid()}, {}, "finished", ""),
        ({"pid": -1}, {}, "unknown", "how the script ended was not recorded"),
        (
            {"ended_s": 9.0},
            {"left_by": "KeyboardInterrupt"},
            "left by KeyboardInterrupt",
            "the watched block was left by KeyboardInterrupt",
        ),
    ],
    ids=["stopped", "asked from inside", "killed", "an error"],
)
def test_how_a_script_that_watches_itself_ended(facts, run, text, sentence):
    made = recording(facts=facts)
    made.main.facts = facts
    made.run = {"inside": True, **run}
    assert run_outcome(made).text == text
    assert sentences.outcome(run_outcome(made)) == sentence


def test_a_missing_tensorflow_is_told_with_how_to_install_it():
    found = ended_by("ModuleNotFoundError", "No module named 'tensorflow'")
    assert found.name == "TensorFlow"
    assert found.headline == (
        "TensorFlow is not installed for the Python that ran the script (/envs/my env/bin/python)"
    )
    assert found.advice.splitlines() == [
        "Install it there:",
        "    '/envs/my env/bin/python' -m pip install 'quickfit[cpu]'"
        "    (with an NVIDIA GPU: 'quickfit[gpu]')",
        "Or, if the script has an environment of its own, install quickfit in that one, and run:",
        "    THAT_ENVIRONMENT/bin/python -m quickfit run train.py",
    ]


@pytest.mark.parametrize(
    ("module", "name", "install"),
    [
        ("keras", "Keras", "pip install 'quickfit[cpu]'"),
        ("tf_keras", "Keras 2 (tf_keras)", "pip install tf_keras\n"),
    ],
)
def test_every_framework_has_its_package(module, name, install):
    found = ended_by("ModuleNotFoundError", f"No module named '{module}'")
    assert found.name == name
    assert install in found.advice


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ModuleNotFoundError", "No module named 'pandas'"),
        ("ModuleNotFoundError", "No module named 'tensorflow.keras'"),
        ("ModuleNotFoundError", "No module named 'tensorflow'; 'x' is not a package"),
        ("ImportError", "No module named 'tensorflow'"),
        ("ValueError", ""),
    ],
)
def test_other_errors_are_not_for_want_of_a_framework(kind, message):
    assert ended_by(kind, message) is None


def test_a_run_that_did_not_end_by_an_error_misses_nothing():
    assert missing_framework(recording()) is None


def test_a_recording_without_a_command_has_advice_as_well():
    found = ended_by("ModuleNotFoundError", "No module named 'keras'", command=None)
    assert "python -m pip install" in found.advice


@pytest.mark.parametrize("module", ["tensorflow", "keras"])
def test_a_real_script_without_its_framework(tmp_path, module):
    """It looks for modules as a Python without installed packages does."""
    (tmp_path / "train.py").write_text(
        "import sys\nsys.path = [p for p in sys.path if 'site-packages' not in p]\n"
        f"import {module}\n"
    )
    ran = quickfit(tmp_path, "run", "train.py")
    assert ran.returncode == 1
    assert f"ModuleNotFoundError: No module named '{module}'".encode() in ran.stderr
    found = missing_framework(reader.read(newest_run(tmp_path)))
    assert found is not None
    assert Path(found.headline.rpartition("(")[2].rstrip(")")).name.startswith("python")
    assert "quickfit run train.py" in found.advice
