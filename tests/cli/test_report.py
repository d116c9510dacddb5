"""`quickfit report`: which run it takes, what it prints where, and how it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import quickfit.diagnosis
from quickfit.cli.report import Format, report
from quickfit.errors import RecordingError, UsageError
from quickfit.recording.folder import newest_run

from report.builders import diagnosis, map_finding


@pytest.fixture
def asked(monkeypatch):
    """Answer every recording with one diagnosis, and note which ones were asked for."""
    paths = []

    def diagnose(path, **given):
        paths.append(path)
        return diagnosis(map_finding())

    monkeypatch.setattr(quickfit.diagnosis, "diagnose", diagnose, raising=False)
    return paths


def make_run(name, *, age_s):
    folder = Path(".quickfit/runs") / name
    folder.mkdir(parents=True)
    os.utime(folder, (1_800_000_000 - age_s,) * 2)
    return folder


def test_prints_the_report_of_a_run_to_stdout(asked, capsys):
    report(Path("a.qfrun"))
    shown = capsys.readouterr()
    assert asked == [Path("a.qfrun")]
    assert "1  sequential-map" in shown.out
    assert shown.err == ""


@pytest.mark.usefixtures("asked")
def test_prints_json_and_nothing_else_to_stdout(capsys):
    report(Path("a.qfrun"), format=Format.JSON)
    shown = capsys.readouterr()
    assert json.loads(shown.out)["findings"][0]["cause"] == "sequential-map"
    assert shown.err == ""


@pytest.mark.usefixtures("asked")
def test_prints_markdown(capsys):
    report(Path("a.qfrun"), format=Format.MARKDOWN)
    assert "#### 1. `sequential-map`: training" in capsys.readouterr().out


@pytest.mark.usefixtures("asked")
def test_writes_a_page_and_prints_its_path(capsys, tmp_path):
    report(Path("a.qfrun"), html=tmp_path / "report.html")
    assert capsys.readouterr().out == f"page: {tmp_path / 'report.html'}\n"
    assert "sequential-map" in (tmp_path / "report.html").read_text()


def test_a_page_and_another_format_are_not_asked_for_at_once(asked, tmp_path):
    with pytest.raises(UsageError, match="Received: --format json"):
        report(Path("a.qfrun"), html=tmp_path / "report.html", format=Format.JSON)
    assert asked == []


def test_what_is_no_page_is_refused_before_anything_is_read(asked, tmp_path):
    (tmp_path / "notes.html").write_text("mine")
    with pytest.raises(UsageError, match="not a page of quickfit"):
        report(Path("a.qfrun"), html=tmp_path / "notes.html")
    assert asked == []
    report(Path("a.qfrun"), html=tmp_path / "notes.html", force=True)
    assert (tmp_path / "notes.html").read_text() != "mine"


def test_takes_the_newest_run_and_says_which(asked, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_run("zebra.qfrun", age_s=60)
    newest = make_run("apple.qfrun", age_s=5)
    make_run("notes", age_s=0)
    report()
    assert asked == [newest]
    assert capsys.readouterr().err == "quickfit: newest run: .quickfit/runs/apple.qfrun\n"


def test_runs_of_the_same_moment_are_told_apart_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_run("a-1.qfrun", age_s=0)
    make_run("a-2.qfrun", age_s=0)
    assert newest_run(Path(".quickfit/runs")).name == "a-2.qfrun"


def test_says_how_to_record_a_run_when_there_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        report()
    assert ".quickfit/runs: there is no recording here" in str(caught.value)
    assert "    quickfit run train.py" in str(caught.value)


def test_an_error_about_the_recording_is_passed_on(monkeypatch):
    def diagnose(path):
        raise RecordingError(f"{path}: not a recording")

    monkeypatch.setattr(quickfit.diagnosis, "diagnose", diagnose, raising=False)
    with pytest.raises(RecordingError, match="not a recording"):
        report(Path("x.qfrun"))


@pytest.mark.usefixtures("asked")
def test_works_as_a_typer_command():
    app = typer.Typer()
    app.command()(report)
    result = CliRunner().invoke(app, ["a.qfrun", "--format", "json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["schema_version"] == 2
    assert CliRunner().invoke(app, ["a.qfrun", "--format", "xml"]).exit_code == 2


def run_python(code, **options):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, **options
    )


def test_a_reader_that_goes_away_ends_it_quietly():
    write = "from quickfit.cli._stdout import answer_text; answer_text('line\\n' * 1_000_000)"
    command = f'"{sys.executable}" -c "{write}" | head -1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "line\n0\n"
    assert done.stderr == ""


def test_an_ascii_terminal_gets_its_answer():
    write = "from quickfit.cli._stdout import answer_text; answer_text('1.4–2.5× µ\\n')"
    done = run_python(write, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.stdout == "1.4-2.5x u\n"


@pytest.mark.parametrize("module", ["quickfit.cli.report", "quickfit.cli.explain"])
def test_the_command_loads_nothing_heavy(module):
    heavy = "'rich.console', 'numpy', 'tensorflow', 'sqlite3', 'quickfit.report'"
    # typer itself loads rich where it is installed; what counts is what we add to it.
    code = (
        f"import sys, typer; before = set(sys.modules); import {module}; "
        f"print(sorted({{{heavy}}} & (set(sys.modules) - before)))"
    )
    assert run_python(code).stdout == "[]\n"
