"""`quickfit doctor`: one line for each check, JSON, and its exit code."""

import json

import pytest
import typer

from quickfit.cli import doctor as command
from quickfit.cli.doctor import doctor
from quickfit.errors import UsageError
from quickfit.machine import setup
from quickfit.machine.setup import Check, State

FINE = Check("GPU", State.OK, "TensorFlow uses NVIDIA H100")
BAD = Check("swap", State.WARNING, "2.0 GB are in use", "vmstat 1 5")
OPEN = Check("disk speed", State.UNKNOWN, "no file to measure it with")


@pytest.fixture
def found(monkeypatch):
    """Return the list of checks that the command is to find."""
    checks = []
    monkeypatch.setattr(command, "_setup", lambda folder: None)
    monkeypatch.setattr(setup, "check_setup", lambda _: checks)
    return checks


def test_a_machine_without_a_warning_ends_well(found, capsys, tmp_path):
    found += [FINE, OPEN]
    doctor(tmp_path)
    assert capsys.readouterr().out.splitlines() == [
        "ok       GPU         TensorFlow uses NVIDIA H100",
        "?        disk speed  no file to measure it with",
        "nothing to change, 1 not known",
    ]


def test_a_warning_says_what_to_type_and_ends_with_one(found, capsys, tmp_path):
    found += [FINE, BAD]
    with pytest.raises(typer.Exit) as ended:
        doctor(tmp_path)
    assert ended.value.exit_code == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "WARNING  swap  2.0 GB are in use",
        "               vmstat 1 5",
        "1 to change",
    ]


def test_json_has_every_check(found, capsys, tmp_path):
    found += [BAD, OPEN]
    with pytest.raises(typer.Exit):
        doctor(tmp_path, as_json=True)
    answer = json.loads(capsys.readouterr().out)
    assert answer["warnings"] == 1
    assert answer["checks"][0] == {
        "topic": "swap",
        "state": "warning",
        "summary": "2.0 GB are in use",
        "advice": "vmstat 1 5",
    }


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no such file or folder"):
        doctor(tmp_path / "photos")


@pytest.mark.parametrize(
    ("written", "code", "why"),
    [
        (None, None, "took more than"),
        ("", -11, "ended the process"),
        ("warning\nnot json", 0, "ended the process"),
        ("[1]", 0, "did not answer"),
    ],
)
def test_a_framework_that_fails_is_not_known(tmp_path, written, code, why):
    file = tmp_path / "answer"
    if written is not None:
        file.write_text(written)
    assert why in command._answer(file, code)["error"]


def test_what_a_framework_prints_before_its_answer_is_passed_over(tmp_path):
    (tmp_path / "answer").write_text('hello\n{"tensorflow_version": "2.21.0"}\n')
    assert command._answer(tmp_path / "answer", 0) == {"tensorflow_version": "2.21.0"}
